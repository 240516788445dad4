package p4te

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Event is a report from the data plane to the local control plane in a feedback packet: a metric of a port has changed
// to Value (packets, picoseconds, or a colour).
type Event struct {
	Metric Metric
	Change Change
	Port   packet.PortID
	Value  int64
}

// Write is a change of one upward table: a port enters or leaves a routing group.
type Write struct {
	At     unit.Time // when the table applies it
	Metric Metric
	Group  int
	Port   packet.PortID
	Enter  bool
}

// Mapping is the rule by which the control plane selects a port's group.
type Mapping uint8

// Mappings.
const (
	ByStep  Mapping = iota // algorithm 4: one group per event
	ByRange                // the group of the value's sub-range (P4TE §6.2.1.2)
	ByFit                  // ByRange at ports in bit/s, ByStep at ports in packets/s
)

// ControlConfig configures a switch's control plane.
type ControlConfig struct {
	Groups    [MetricCount]int     // n, the number of routing groups per metric, 1 or more
	Range     [MetricCount][]int64 // ByRange: by port, the largest value of the metric's range
	Mapping   Mapping
	Latency   unit.Time // from the event to the control plane's first write
	WriteTime unit.Time // time that one change of a table takes; writes are sequential
	Queue     int       // events with waiting writes, 1 or more; further events are lost
}

// ControlPlane is algorithm 4, on the switch's own CPU. It is a pure state machine: Reconfigure takes an event and
// returns the writes that follow, with the times at which they reach the tables. Writes are not atomic (P4TE §4.3): a
// port first leaves its group, and enters the next one a write later; in between it is in no group.
type ControlPlane struct {
	config    ControlConfig
	group     [MetricCount][]int // by port; −1: not an upward port
	down      []bool             // by port: taken out because its link is down
	busyUntil unit.Time          // end of the last write
	lost      uint64
	writes    []Write
	work      work
}

// NewControlPlane returns the control plane of a switch with this number of ports. The ports in up lead upward and
// start in group 0, which has the highest priority (algorithm 4, lines 1 to 5).
func NewControlPlane(ports int, up []packet.PortID, c ControlConfig) *ControlPlane {
	k := &ControlPlane{config: c, down: make([]bool, ports)}
	k.work.start(ports, len(up), &c.Groups)
	for m := range MetricCount {
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

// Group returns the group of a port in the control plane's view; −1: no group.
func (k *ControlPlane) Group(m Metric, port packet.PortID) int {
	if k.down[port] {
		return -1
	}
	return k.group[m][port]
}

// LostEvents returns the number of events lost because the queue was full.
func (k *ControlPlane) LostEvents() uint64 { return k.lost }

// Reconfigure processes an event (algorithm 4, lines 6 to 18). An increase moves the port one group further from the
// highest priority, a decrease one group nearer, within the existing groups; with ByRange the value alone decides. An
// event of a port that does not lead upward has no effect. Data planes can have more events than tables accept writes
// (docs/papers/p4te.md#events-and-writes), so an event that finds Queue others waiting is lost and changes no group.
// The returned writes are valid until the next call.
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
	if k.busyUntil-now-k.config.Latency > 2*k.config.WriteTime*unit.Time(k.config.Queue-1) { // an event is two writes
		k.lost++
		return nil
	}
	k.moveGroup(now, e.Metric, e.Port, group)
	return k.writes
}

// moveGroup moves a port to another group of a metric. If the port's link is up, it appends two writes to k.writes.
func (k *ControlPlane) moveGroup(now unit.Time, m Metric, port packet.PortID, group int) {
	old := k.group[m][port]
	k.work.leaveGroup(now, m, port, old)
	k.group[m][port] = group
	if !k.down[port] {
		k.appendWrite(now, Write{Metric: m, Group: old, Port: port})
		k.appendWrite(now, Write{Metric: m, Group: group, Port: port, Enter: true})
	}
}

// RestPort moves a port without recent packets back to the first group of each metric: its queue is empty and its link
// idle. This is Weir's addition: otherwise a port in a last group sends no packet that could report an improvement. The
// returned writes are valid until the next call.
func (k *ControlPlane) RestPort(now unit.Time, port packet.PortID) []Write {
	k.writes = k.writes[:0]
	for m := range MetricCount {
		if k.group[m][port] > 0 {
			k.moveGroup(now, m, port, 0)
		}
	}
	return k.writes
}

// SetLinkDown takes a port out of its groups when its link goes down, and returns it to them when the link is up again
// (P4TE §6.5: "the operator can simply remove the link"). Without a change, or for a port that does not lead upward, it
// returns nil. The returned writes are valid until the next call.
func (k *ControlPlane) SetLinkDown(now unit.Time, port packet.PortID, down bool) []Write {
	k.writes = k.writes[:0]
	if k.group[0][port] < 0 || k.down[port] == down {
		return nil
	}
	k.down[port] = down
	for m := range MetricCount {
		k.appendWrite(now, Write{Metric: m, Group: k.group[m][port], Port: port, Enter: !down})
	}
	return k.writes
}

// appendWrite schedules a write after all others and after the control plane's latency.
func (k *ControlPlane) appendWrite(now unit.Time, w Write) {
	k.busyUntil = max(k.busyUntil, now+k.config.Latency) + k.config.WriteTime
	k.work.writes++
	w.At = k.busyUntil
	k.writes = append(k.writes, w)
}
