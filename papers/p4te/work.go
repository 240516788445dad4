package p4te

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// work records the writes of a control plane, and the time of ports in each group.
type work struct {
	writes uint64
	up     int
	since  [MetricCount][]unit.Time // by port
	spent  [MetricCount][]unit.Time // by group, total time of ports that have left it
}

// start begins the record with upPorts upward ports in their first groups.
func (w *work) start(ports, upPorts int, groups *[MetricCount]int) {
	w.up = upPorts
	for m := range MetricCount {
		w.since[m], w.spent[m] = make([]unit.Time, ports), make([]unit.Time, groups[m])
	}
}

// leaveGroup adds the time that a port has been in a group to the group's total, as the port leaves it at now.
func (w *work) leaveGroup(now unit.Time, m Metric, port packet.PortID, group int) {
	w.spent[m][group] += now - w.since[m][port]
	w.since[m][port] = now
}

// Steering returns the control plane's counters, and the share of time that ports have been in each group, in its view.
// Without upward ports, and at time 0, there are no shares.
func (t *Program) Steering(now unit.Time) dataplane.Steering {
	k := t.control
	s := dataplane.Steering{Events: t.counts.ToControl, Lost: k.lost, Writes: k.work.writes,
		Busy: unit.Time(k.work.writes) * k.config.WriteTime}
	if k.work.up == 0 || now <= 0 {
		return s
	}
	for m := range MetricCount {
		for g, spent := range k.work.spent[m] {
			for port, at := range k.group[m] {
				if at == g {
					spent += now - k.work.since[m][port]
				}
			}
			s.Groups = append(s.Groups, dataplane.Occupancy{Group: fmt.Sprintf("%s_%d", metricWords[m], g),
				Share: float64(spent) / float64(now) / float64(k.work.up)})
		}
	}
	return s
}

// metricWords name metrics in groups.
var metricWords = [MetricCount]string{"delay", "depth", "utilisation"}

// ageIdlePorts returns ports without packets for config.IdleAge to their first groups, by writes that it schedules. It
// resets their last depth, colour and utilisation.
func (t *Program) ageIdlePorts(now unit.Time) {
	for _, p := range t.place.Up {
		if now-t.departures[p] < t.config.IdleAge {
			continue
		}
		t.depth.old[p], t.colours.old[p], t.utilisation[p] = 0, dataplane.Green, dataplane.Green
		t.writes = append(t.writes, t.control.RestPort(now, p)...)
	}
}
