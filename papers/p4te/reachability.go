package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// reachability stores which ports lead to leaves beyond a failed link. This is Weir's addition: P4TE §6.5 leaves it to
// the operator. A switch that has lost its route to a leaf reports it to its other neighbours at each check of its
// links. A report is valid for three checks, so one message may be lost, and no message is needed when the link is up
// again.
type reachability struct {
	portDown    []int32       // by leaf: the port that leads down to it; −1: upward
	barredUntil [][]unit.Time // by port and leaf: no route beyond until then

	address packet.Addr // of this switch
	version uint8
}

// Metric of the events by which switches notify each other; their value is the leaf's number.
const unreachable Metric = MetricCount

// holdPeriods is the number of checks for which a neighbour's report is valid.
const holdPeriods = 3

// newReachability returns the state of a switch without failed links.
func newReachability(t *Program, site *dataplane.Site) *reachability {
	r := &reachability{portDown: make([]int32, t.place.Leaves), barredUntil: make([][]unit.Time, site.Ports)}
	if a := packet.Addr(site.ID + 1); int(a) < site.Book.Len() {
		if r.address, r.version = a, 4; !site.Book.V4(a).IsValid() {
			r.version = 6
		}
	}
	for i := range r.portDown {
		r.portDown[i] = -1
	}
	for a, port := range t.downPorts {
		if port >= 0 && a < len(t.place.Leaf) && t.place.Leaf[a] >= 0 {
			r.portDown[t.place.Leaf[a]] = port
		}
	}
	for i := range r.barredUntil {
		r.barredUntil[i] = make([]unit.Time, t.place.Leaves)
	}
	return r
}

// isBarred reports whether a port has no route to a leaf at now.
func (t *Program) isBarred(now unit.Time, port packet.PortID, leaf int) bool {
	return t.isDown[port] || t.reachability.barredUntil[port][leaf] > now
}

// isLost reports whether a leaf cannot be reached through this switch.
func (t *Program) isLost(now unit.Time, leaf int) bool {
	if p := t.reachability.portDown[leaf]; p >= 0 {
		return t.isBarred(now, packet.PortID(p), leaf)
	}
	for _, p := range t.place.Up {
		if !t.isBarred(now, p, leaf) {
			return false
		}
	}
	return true
}

// reportLostLeaves checks the downward links, and notifies neighbours of lost leaves: the switches below and, for
// leaves below this switch, those above. A leaf has no neighbours to notify. t.reachability must not be nil.
func (t *Program) reportLostLeaves(env *dataplane.Env) {
	if t.place.Tier == 1 {
		return
	}
	now := env.Now()
	for _, p := range t.place.Down {
		t.isDown[p] = env.Port(p).IsDown()
	}
	for leaf, below := range t.reachability.portDown {
		if !t.isLost(now, leaf) {
			continue
		}
		for _, p := range t.place.Down {
			if int32(p) != below {
				t.sendLostLeaf(env, p, leaf)
			}
		}
		if below >= 0 {
			for _, p := range t.place.Up {
				t.sendLostLeaf(env, p, leaf)
			}
		}
	}
}

// sendLostLeaf notifies a neighbour that a leaf is lost, unless its link is down.
func (t *Program) sendLostLeaf(env *dataplane.Env, port packet.PortID, leaf int) {
	if t.isDown[port] {
		return
	}
	f := env.NewPacket()
	f.Kind, f.Proto, f.Version, f.HopLimit = packet.Probe, packet.ProtoOwn, t.reachability.version, 1
	f.Src, f.Dst = t.reachability.address, t.reachability.address
	f.Hash = packet.FlowHash(f.Src, f.Dst, 0, 0, f.Proto)
	if !putFeedback(f, []Event{{Metric: unreachable, Value: int64(leaf)}}) {
		env.FreePacket(f)
		return
	}
	t.setSize(f, shimHeader)
	t.counts.ToNeighbour++
	env.SendPacket(f, port, 0)
}

// recordLostLeaf stores the report, valid for holdPeriods checks of the links, that port in has no route to leaf
// e.Value. It ignores unknown leaves, and all reports if this switch does not report failures.
func (t *Program) recordLostLeaf(now unit.Time, in packet.PortID, e Event) {
	if t.reachability != nil && e.Value >= 0 && e.Value < int64(len(t.reachability.portDown)) {
		t.reachability.barredUntil[in][e.Value] = now + holdPeriods*t.config.LinkCheckInterval
	}
}

// avoidLostLeaf returns the upward port of a packet: port or, if that has no route to the packet's leaf, another one by
// the flow's hash. Without any route it returns port. t.reachability must not be nil.
func (t *Program) avoidLostLeaf(now unit.Time, p *packet.Packet, port packet.PortID) packet.PortID {
	if int(p.Dst) >= len(t.place.Leaf) || t.place.Leaf[p.Dst] < 0 {
		return port
	}
	leaf := int(t.place.Leaf[p.Dst])
	if !t.isBarred(now, port, leaf) {
		return port
	}
	n := uint64(0)
	for _, x := range t.place.Up {
		if !t.isBarred(now, x, leaf) {
			n++
		}
	}
	i := uint64(dataplane.MixHash(p.Hash^t.seed)) * n >> 32
	for _, x := range t.place.Up {
		if t.isBarred(now, x, leaf) {
			continue
		}
		if i == 0 {
			return x
		}
		i--
	}
	return port
}
