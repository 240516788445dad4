package p4te

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Event is a report from the data plane to the local control plane in a feedback packet: a metric of a
// port has changed to this value (packets, picoseconds, or a colour).
type Event struct {
	Metric Metric
	Change Change
	Port   packet.PortID
	Value  int64
}

// Write is a change of one upward table: a port enters or leaves a routing group.
type Write struct {
	At     unit.Time // when the table has it
	Metric Metric
	Group  int
	Port   packet.PortID
	Enter  bool
}

// Mapping is the rule by which the control plane finds a port's group.
type Mapping uint8

// Mappings.
const (
	ByStep  Mapping = iota // algorithm 4: one group per event
	ByRange                // the group of the sub-range that the value is in (§6.2.1.2)
	ByFit                  // ByRange at ports in bit/s, ByStep at those in packets/s
)

// ControlConfig configures a switch's control plane.
type ControlConfig struct {
	Groups  [Metrics]int     // n, the number of routing groups per metric, 1 or more
	Range   [Metrics][]int64 // ByRange: by port, the largest value of the metric's range
	Mapping Mapping
	Latency unit.Time // from the event to the control plane's answer
	Write   unit.Time // time that one change of a table takes; writes are sequential
	Queue   int       // events whose writes may wait, 1 or more; further events are lost
}

// ControlPlane is algorithm 4, on the switch's own CPU. It is a pure state machine: Reconfigure takes an
// event and returns the writes that follow, with the times at which they reach the tables. Writes are not
// atomic (§4.3): a port first leaves its group and enters the next one a write later; in between it is in
// none.
type ControlPlane struct {
	config ControlConfig
	group  [Metrics][]int // by port; −1: not an upward port
	down   []bool         // by port: taken out because its link is down
	free   unit.Time      // when the last write is done
	lost   uint64
	writes []Write
	work   work
}

// NewControlPlane returns the control plane of a switch with this number of ports. The ports in up lead
// upward and start in the group of the highest priority, 0 (lines 1 to 5).
func NewControlPlane(ports int, up []packet.PortID, c ControlConfig) *ControlPlane {
	k := &ControlPlane{config: c, down: make([]bool, ports)}
	k.work.begin(ports, len(up), &c.Groups)
	for m := range Metrics {
		k.group[m] = make([]int, ports)
		for i := range k.group[m] {
			k.group[m][i] = -1
		}
		for _, p := range up {
			k.group[m][p] = 0
		}
	}
	return k
}

// Group returns the group of a port as the control plane sees it; −1: it is in none.
func (k *ControlPlane) Group(m Metric, port packet.PortID) int {
	if k.down[port] {
		return -1
	}
	return k.group[m][port]
}

// Lost is the number of events that found the queue full.
func (k *ControlPlane) Lost() uint64 { return k.lost }

// Reconfigure processes an event (lines 6 to 18). An increase moves the port one group further from the
// highest priority, a decrease one group nearer, as far as there are groups. Data planes can have more
// events than tables accept writes (doc.go), so an event that finds Queue others waiting is lost and moves
// nothing. The returned writes are valid until the next call.
func (k *ControlPlane) Reconfigure(now unit.Time, e Event) []Write {
	k.writes = k.writes[:0]
	old := k.group[e.Metric][e.Port]
	if old < 0 {
		return nil
	}
	group := old
	switch {
	case k.config.Mapping == ByRange:
		n := int64(k.config.Groups[e.Metric])
		group = int(min(max(e.Value, 0)*n/k.config.Range[e.Metric][e.Port], n-1))
	case e.Change == Increase:
		group = min(old+1, k.config.Groups[e.Metric]-1)
	case e.Change == Decrease:
		group = max(old-1, 0)
	}
	if group == old {
		return nil
	}
	if k.free-now-k.config.Latency > 2*k.config.Write*unit.Time(k.config.Queue-1) { // an event is two writes
		k.lost++
		return nil
	}
	k.move(now, e.Metric, e.Port, group)
	return k.writes
}

// move takes a port to another group of a metric.
func (k *ControlPlane) move(now unit.Time, m Metric, port packet.PortID, group int) {
	old := k.group[m][port]
	k.work.leave(now, m, port, old)
	k.group[m][port] = group
	if !k.down[port] {
		k.write(now, Write{Metric: m, Group: old, Port: port})
		k.write(now, Write{Metric: m, Group: group, Port: port, Enter: true})
	}
}

// Rest takes a port that nothing has left by for long back to the first group of each metric: its queue is empty and
// its link idle (ours; without, a port that a control plane has put last sends no packet that would report otherwise).
func (k *ControlPlane) Rest(now unit.Time, port packet.PortID) []Write {
	k.writes = k.writes[:0]
	for m := range Metrics {
		if k.group[m][port] > 0 {
			k.move(now, m, port, 0)
		}
	}
	return k.writes
}

// Link takes a port out of its groups because its link is down, or puts it back where it
// was (§6.5: "the operator can simply remove the link").
func (k *ControlPlane) Link(now unit.Time, port packet.PortID, down bool) []Write {
	k.writes = k.writes[:0]
	if k.group[0][port] < 0 || k.down[port] == down {
		return nil
	}
	k.down[port] = down
	for m := range Metrics {
		k.write(now, Write{Metric: m, Group: k.group[m][port], Port: port, Enter: !down})
	}
	return k.writes
}

func (k *ControlPlane) write(now unit.Time, w Write) {
	k.free = max(k.free, now+k.config.Latency) + k.config.Write
	k.work.writes++
	w.At = k.free
	k.writes = append(k.writes, w)
}
