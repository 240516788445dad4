package sim

import (
	"weir/core/packet"
	"weir/core/unit"
)

// The ends of a flow are released once its sender has finished, neither end wants to send or has a timer, no packet of
// it is in the network, and no program of a switch may make one (dataplane.PacketOriginator). Then no packet can reach
// them any more, and they are not needed. Finding the flows with packets in the network takes a scan of all packets,
// which is worth it when many flows have finished since the last one: a sweep costs a constant for each flow.

// Bounds of the number of finished flows after which the next sweep is made.
const (
	minFinished = 64 // at least
	perPacket   = 16 // one for this number of ports and packets of the last sweep
)

// sweepAfter sets when the next sweep is made, after a sweep that has scanned a number of ports, packets and flows.
func (r *Simulation) sweepAfter(looked int) {
	r.nextSweep = r.finished + max(minFinished, looked/perPacket)
	if n := r.config.sweeps; n != 0 {
		r.nextSweep = r.finished + n
	}
}

// sweepDue reports whether so many flows have finished that a sweep is worth it.
func (r *Simulation) sweepDue() bool { return r.finished >= r.nextSweep }

// sweepFlows releases the ends of flows that are over, and sets the next sweep. It releases no flow while a switch
// recirculates packets. All nodes must have reached the same time.
func (r *Simulation) sweepFlows() {
	if len(r.there) <= len(r.config.Flows)/64 {
		r.there = make([]uint64, len(r.config.Flows)/64+1)
	}
	there := r.there
	clear(there)
	looked := len(r.linkOf)
	keep := func(flow packet.FlowID) {
		if i := int(flow); i < len(r.config.Flows) {
			there[i/64] |= 1 << (i % 64)
		}
	}
	see := func(p *packet.Packet) {
		looked++
		keep(p.Flow)
	}
	r.eachPacket(see)
	for _, sw := range r.switches {
		if sw != nil && sw.RecirculatingPackets() > 0 {
			r.sweepAfter(looked)
			return
		}
		if sw != nil {
			sw.PendingFlows(keep)
		}
	}
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		for _, p := range h.kept {
			see(p)
		}
	}
	left := 0
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		kept := h.finished[:0]
		for _, flow := range h.finished {
			if there[flow/64]>>(flow%64)&1 != 0 || !r.giveBack(flow) {
				kept = append(kept, flow)
			}
		}
		h.finished = kept
		left += len(kept)
	}
	r.sweepAfter(looked + perPacket/2*left) // more by left, so that remaining flows are not scanned again and again
}

// giveBack releases the ends of a flow without packets in the network if they are idle, after recording its outcome.
// Endpoints and the place of a message may then be reused. It reports whether it did.
func (r *Simulation) giveBack(flow packet.FlowID) bool {
	f := &r.config.Flows[flow]
	src, dst := r.hosts[f.Src], r.hosts[f.Dst]
	s, d := r.sender[flow], r.receiver[flow]
	if !src.slot[s].isIdle() || d >= 0 && !dst.slot[d].isIdle() {
		return false
	}
	r.recordCounters(int(flow))
	if r.isMessage(flow) && d >= 0 {
		r.jobs.reuseEndpoints(flow, src.slot[s].endpoint, dst.slot[d].endpoint)
	}
	src.freeSlot(s)
	if d >= 0 {
		dst.freeSlot(d)
	}
	r.sender[flow], r.receiver[flow] = closed, closed
	if r.isMessage(flow) {
		r.addRankCounters(r.closedCounters, int(flow))
		r.jobs.free = append(r.jobs.free, flow)
	}
	return true
}

// isIdle reports whether an endpoint has no event any more unless a packet arrives. An endpoint that shares state with
// others may wait for its turn until it has finished.
func (s *slot) isIdle() bool {
	return !s.ready && s.sendAt == unit.Never && s.endpoint.NextSend() == unit.Never &&
		s.endpoint.NextTimer() == unit.Never && (s.rescheduling == nil || s.counters.Finished != unit.Never)
}

// freeSlot removes the endpoint from slot i, which becomes unused. A timer that it has set still expires, without a
// slot: that is an event like any other.
func (h *host) freeSlot(i int32) {
	s := &h.slot[i]
	if s.timerAt != unit.Never {
		h.timers.Push(h.timerEntry(s.timerAt, s.flow, stale))
	}
	s.endpoint, s.rescheduling, s.counters, s.awaited, s.timerAt = nil, nil, nil, false, unit.Never
	h.unused = append(h.unused, i)
}
