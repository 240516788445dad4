package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// reachability stores which ports lead to leaves that are beyond a failed link (ours: §6.5 leaves it to the operator).
// A switch that has lost its way to a leaf reports it to its other neighbours each time it checks its links. A report
// is valid for three checks. So one message may be lost, and no message is necessary when the link is up again.
type reachability struct {
	below []int32       // by leaf: the port that leads down to it; −1: upward
	until [][]unit.Time // by port and leaf: no way beyond until then

	address packet.Addr // of this switch
	version uint8
}

// Metric of the events by which switches notify each other; their value is the leaf's number.
const unreachable Metric = Metrics

// holdPeriods is the number of checks for which a neighbour's report is valid.
const holdPeriods = 3

func newReachability(t *Program, site *dataplane.Site) *reachability {
	r := &reachability{below: make([]int32, t.place.Leaves), until: make([][]unit.Time, site.Ports)}
	if a := packet.Addr(site.ID + 1); int(a) < site.Book.Len() {
		if r.address, r.version = a, 4; !site.Book.V4(a).IsValid() {
			r.version = 6
		}
	}
	for i := range r.below {
		r.below[i] = -1
	}
	for a, port := range t.down {
		if port >= 0 && a < len(t.place.Leaf) && t.place.Leaf[a] >= 0 {
			r.below[t.place.Leaf[a]] = port
		}
	}
	for i := range r.until {
		r.until[i] = make([]unit.Time, t.place.Leaves)
	}
	return r
}

// bars reports whether there is no way to a leaf by a port.
func (t *Program) bars(now unit.Time, port packet.PortID, leaf int) bool {
	return t.isDown[port] || t.reachability.until[port][leaf] > now
}

// lost reports whether a leaf cannot be reached through this switch.
func (t *Program) lost(now unit.Time, leaf int) bool {
	if p := t.reachability.below[leaf]; p >= 0 {
		return t.bars(now, packet.PortID(p), leaf)
	}
	for _, p := range t.place.Up {
		if !t.bars(now, p, leaf) {
			return false
		}
	}
	return true
}

// tell looks at the links down, and tells neighbours of leaves that are lost: those below, and those above of what is
// below. A leaf has nobody to tell.
func (t *Program) tell(env *dataplane.Env) {
	if t.place.Tier == 1 {
		return
	}
	now := env.Now()
	for _, p := range t.place.Down {
		t.isDown[p] = env.Port(p).Down()
	}
	for leaf, below := range t.reachability.below {
		if !t.lost(now, leaf) {
			continue
		}
		for _, p := range t.place.Down {
			if int32(p) != below {
				t.sendNote(env, p, leaf)
			}
		}
		if below >= 0 {
			for _, p := range t.place.Up {
				t.sendNote(env, p, leaf)
			}
		}
	}
}

// sendNote tells a neighbour that a leaf is lost.
func (t *Program) sendNote(env *dataplane.Env, port packet.PortID, leaf int) {
	if t.isDown[port] {
		return
	}
	f := env.New()
	f.Kind, f.Proto, f.Version, f.HopLimit = packet.Probe, packet.ProtoOwn, t.reachability.version, 1
	f.Src, f.Dst = t.reachability.address, t.reachability.address
	f.Hash = packet.FlowHash(f.Src, f.Dst, 0, 0, f.Proto)
	if !putFeedback(f, []Event{{Metric: unreachable, Value: int64(leaf)}}) {
		env.Free(f)
		return
	}
	t.size(f, shimHeader)
	t.counts.ToNeighbour++
	env.Send(f, port, 0)
}

// note takes a neighbour's word.
func (t *Program) note(now unit.Time, in packet.PortID, e Event) {
	if t.reachability != nil && e.Value >= 0 && e.Value < int64(len(t.reachability.below)) {
		t.reachability.until[in][e.Value] = now + holdPeriods*t.config.Detect
	}
}

// around is the port of a packet that goes up, where the one that was chosen has no way: another
// that has, by the flow's hash, or the same if there is none.
func (t *Program) around(now unit.Time, p *packet.Packet, port packet.PortID) packet.PortID {
	if int(p.Dst) >= len(t.place.Leaf) || t.place.Leaf[p.Dst] < 0 {
		return port
	}
	leaf := int(t.place.Leaf[p.Dst])
	if !t.bars(now, port, leaf) {
		return port
	}
	n := uint64(0)
	for _, x := range t.place.Up {
		if !t.bars(now, x, leaf) {
			n++
		}
	}
	i := uint64(dataplane.MixHash(p.Hash^t.seed)) * n >> 32
	for _, x := range t.place.Up {
		if t.bars(now, x, leaf) {
			continue
		}
		if i == 0 {
			return x
		}
		i--
	}
	return port
}
