package sim

import (
	"math/bits"

	"weir/core/dataplane/tm"
	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// host is a NIC of an end host, which mostly has one (nics): the endpoints of its flows, and a port of the kind that
// switches have. Packets that endpoints want to send stay with them until the NIC is free (the queue is unlimited and
// back-pressures). Replies exist already: they wait in the port's queues and go first, and so do delayed replies. Ready
// flows are served round robin. It implements fabric.Node.
type host struct {
	port        *tm.Port
	thread      *thread
	run         *Simulation
	observation *observation // nil: no observation
	slot        []slot
	unused      []int32         // slots without an endpoint
	finished    []packet.FlowID // flows from here with finished senders and ends that are not released
	failed      error           // an endpoint could not be made
	jobs        *ranks          // ranks of jobs that are here; nil: no rank

	ready     int32 // first slot of the ring of those that may send, −1: the ring is empty
	readyTail int32
	lastReply int32   // last slot of the ring that sends replies, if there are two
	held      []int32 // slots that may send but have a paused class
	// slots that will send later, and flows that will begin; entries with another time are stale
	sends      timerheap.Heap
	timers     timerheap.Heap   // likewise
	expiry     unit.Time        // when a pause ends by itself
	stall      unit.Time        // when a stall ends; Never: no stall
	kept       []*packet.Packet // packets that arrived during a stall
	node       int32
	number     int32     // of the NIC (topology.NICs); of the first one the node
	scheduled  unit.Time // when the driver will ask by itself
	wants      packet.NodeRequests
	portID     packet.PortID // the NIC's port at the node
	woken      bool          // scheduled has become earlier, and the driver was notified
	unexpected uint64        // packets of no flow of this host
	late       uint64        // unexpected packets of flows with released ends: must be 0
	made       uint64        // packets that endpoints have sent, except for replies
	ended      uint64        // packets that arrived and did not become replies

	strays map[packet.FlowID]*stray // the unexpected packets by flow
}

// slot is one endpoint of a flow at this host.
type slot struct {
	endpoint     transport.Endpoint     // nil: it was released
	rescheduling transport.Rescheduling // the endpoint, if it implements it; or nil
	counters     *transport.Counters
	sendAt       unit.Time // time of its entry in sends, Never without one
	timerAt      unit.Time // time of its entry in timers
	next         int32     // in the ring of ready slots
	flow         packet.FlowID
	src, dst     packet.Addr
	srcPort      uint16
	dstPort      uint16
	class        uint8
	replies      bool // its packets are delayed replies (transport.Replier)
	awaited      bool // a receiver that other flows wait for
	ready        bool
	finite       bool // a sender with an end that it has not reached
}

// newHost returns the host of a node with a NIC of this rate, as the only NIC. newNICs changes its number and port.
func newHost(r *Simulation, node int, rate unit.LinkRate) *host {
	return &host{
		node: int32(node), number: int32(node), expiry: unit.Never, stall: unit.Never,
		port:   tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		thread: r.threadOfNode(node), run: r, ready: -1, readyTail: -1, scheduled: unit.Never,
	}
}

// addEndpoint adds an endpoint to the host, in an unused slot if there is one, and returns its slot. It sets the slot's
// times and counters; s has the rest. Pointers to slots are invalid afterwards.
func (h *host) addEndpoint(s slot) int32 {
	s.sendAt, s.timerAt, s.next = unit.Never, unit.Never, -1
	s.counters = s.endpoint.Counters()
	s.rescheduling, _ = s.endpoint.(transport.Rescheduling)
	if x, ok := s.endpoint.(transport.Replier); ok {
		s.replies = x.Replies()
	}
	if n := len(h.unused); n > 0 {
		i := h.unused[n-1]
		h.unused, h.slot[i] = h.unused[:n-1], s
		return i
	}
	h.slot = append(h.slot, s)
	return int32(len(h.slot) - 1)
}

// timerEntry returns an entry of sends or timers for slot i. At equal times flows go in their order in Config.Flows.
func (h *host) timerEntry(due unit.Time, flow packet.FlowID, i int32) timerheap.Entry {
	return timerheap.Entry{At: due, Key: uint64(flow)<<32 | uint64(uint32(i))}
}

// updateSlot reads the next times of slot i, and handles the end of its flow. It starts flows and notifies jobs and
// triggers that waited for the end, also at other hosts. It must be called after each call into the slot's endpoint.
func (h *host) updateSlot(i int32, now unit.Time) {
	s := &h.slot[i]
	if h.observation != nil {
		h.observation.recordCall(h, i, now)
	}
	if t := s.endpoint.NextSend(); t <= now {
		if !s.ready {
			s.ready = true
			h.enqueue(i)
		}
	} else if t != s.sendAt && t != unit.Never {
		s.sendAt = t
		h.sends.Push(h.timerEntry(t, s.flow, i))
	}
	if t := s.endpoint.NextTimer(); t < s.timerAt {
		s.timerAt = t
		h.timers.Push(h.timerEntry(t, s.flow, i))
		h.wants.Timer = min(h.wants.Timer, t)
	}
	if s.awaited {
		h.startDependents(i, now)
	}
	if s.rescheduling != nil {
		for f, ok := s.rescheduling.Rescheduled(); ok; f, ok = s.rescheduling.Rescheduled() {
			if k := h.run.receiver[f]; k >= 0 {
				h.updateSlot(k, now)
			}
		}
	}
	if s.finite && s.counters.Finished != unit.Never {
		s.finite = false
		h.finished = append(h.finished, s.flow)
		h.thread.recordFinish(s.counters.Finished)
		flow, at := s.flow, max(now, s.counters.Finished)
		if h.run.triggers.activates(flow, false) {
			h.activateTriggers(now, flow, false)
		}
		if h.run.isMessage(flow) {
			h.run.jobs.notifySent(flow, at)
		}
	}
}

// enqueue appends slot i to the ring of ready ones. Slots that send replies go before the others, first in, first out.
func (h *host) enqueue(i int32) {
	s := &h.slot[i]
	s.next = -1
	if h.readyTail < 0 {
		h.ready = i
	} else if s.replies {
		h.enqueueReplies(i)
		return
	} else {
		h.slot[h.readyTail].next = i
	}
	h.readyTail = i
}

// enqueueReplies inserts slot i, which sends replies, into a ring that is not empty, after the last such slot in the
// ring. If there are two of them, the last one was inserted here, because the ring was not empty, and is lastReply.
func (h *host) enqueueReplies(i int32) {
	s, last := &h.slot[i], h.ready
	if !h.slot[last].replies {
		s.next, h.ready = last, i
		return
	}
	if n := h.slot[last].next; n >= 0 && h.slot[n].replies {
		last = h.lastReply
	}
	s.next = h.slot[last].next
	h.slot[last].next, h.lastReply = i, i
	if s.next < 0 {
		h.readyTail = i
	}
}

// enqueueDue moves the slots that are due at now into the ring of ready slots, and starts the flows that are due.
func (h *host) enqueueDue(now unit.Time) {
	for h.sends.FirstTime() <= now {
		e := h.sends.Take()
		i := int32(e.Key)
		if i == pending {
			if i = h.startFlow(packet.FlowID(e.Key>>32), now); i < 0 {
				continue
			}
		} else if h.slot[i].flow != packet.FlowID(e.Key>>32) || h.slot[i].sendAt != e.At {
			continue
		}
		s := &h.slot[i]
		s.sendAt = unit.Never
		if !s.ready {
			s.ready = true
			h.enqueue(i)
		}
	}
}

// earliestSend returns when the NIC could send: now, or when the first flow is due later; unit.Never without one.
// Pauses are ignored.
func (h *host) earliestSend(now unit.Time) unit.Time {
	if h.ready >= 0 || !h.port.IsIdle() {
		return now
	}
	return max(h.nextSend(), now)
}

// nextSend returns when the first of the slots that will send later is due, or the first flow will begin; unit.Never
// without one. It removes stale entries.
func (h *host) nextSend() unit.Time {
	for {
		t := h.sends.FirstTime()
		if t == unit.Never {
			return t
		}
		e := h.sends.FirstEntry()
		if i := int32(e.Key); i == pending || h.slot[i].flow == packet.FlowID(e.Key>>32) && h.slot[i].sendAt == t {
			return t
		}
		h.sends.Take()
	}
}

// reschedule wakes the driver if a packet can be sent before it would call by itself.
func (h *host) reschedule(now unit.Time) {
	if h.scheduled <= now {
		return
	}
	if t := h.earliestSend(now); t < h.scheduled {
		h.scheduled = t
		if !h.woken {
			h.woken = true
			h.wants.WakePort(0)
		}
	}
}

// Wants returns the times and wakes that the NIC and the timers ask for (fabric.Node).
func (h *host) Wants() *packet.NodeRequests {
	h.setTimer()
	return &h.wants
}

// Receive handles a packet that arrives at the NIC (fabric.Node). During a stall it keeps all but PFC frames. It
// takes the packet over.
func (h *host) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	if p.Kind == packet.Pause || p.Kind == packet.Resume {
		h.onPFC(now, p)
		h.freePacket(p)
		h.reschedule(now)
		h.setTimer()
		return
	}
	if h.stall != unit.Never {
		h.kept = append(h.kept, p)
		return
	}
	h.deliver(now, p)
	h.reschedule(now)
}

// deliver gives a packet to its endpoint, and makes the receiver of a flow for its first packet. A reply enters the
// NIC's queue; another packet, or one without an endpoint, is freed.
func (h *host) deliver(now unit.Time, p *packet.Packet) {
	i := h.run.slotFor(h, p)
	if i < 0 {
		if h.onStray(p); i == closed {
			h.late++
		}
		h.freePacket(p)
		return
	}
	s := &h.slot[i]
	if h.observation != nil {
		h.observation.recordArrival(h, i, now, p)
	}
	if s.endpoint.Receive(now, p) {
		p.Sent, p.Enqueued = now, now
		p.Meta = packet.Metadata{Class: s.class}
		h.port.Push(s.class, p)
	} else {
		h.freePacket(p)
	}
	h.updateSlot(i, now)
}

// freePacket counts and frees a packet that ends here.
func (h *host) freePacket(p *packet.Packet) {
	h.ended++
	h.thread.pool.Put(p)
}

// beginStall begins a stall, or prolongs it, up to time until.
func (h *host) beginStall(until unit.Time) { h.stall = until }

// endStall ends the stall, and delivers the packets that arrived during it, in their order.
func (h *host) endStall(now unit.Time) {
	h.stall = unit.Never
	for _, p := range h.kept {
		h.deliver(now, p)
	}
	clear(h.kept)
	h.kept = h.kept[:0]
}

// onPFC pauses the class of PFC frame p at the NIC for the time in p.Seq, or resumes it, and records the event.
func (h *host) onPFC(now unit.Time, p *packet.Packet) {
	class := p.Meta.Class % tm.Classes
	if p.Kind == packet.Pause {
		h.port.ApplyPause(now, class, p.Seq)
		h.expiry = h.port.NextExpiry()
	} else {
		h.port.ApplyResume(now, class)
		h.releaseHeld()
	}
	h.run.recordPFC(now, int(h.node), h.portID, class, p.Kind)
}

// releaseHeld puts the slots with paused classes into the ring; emitNext removes those that are still paused.
func (h *host) releaseHeld() {
	for _, i := range h.held {
		h.enqueue(i)
	}
	h.held = h.held[:0]
}

// expirePauses ends the pauses that have expired by now, and records their ends as resumptions.
func (h *host) expirePauses(now unit.Time) {
	before := h.port.HeldClasses()
	h.port.ExpirePauses(now)
	for over := before &^ h.port.HeldClasses(); over != 0; over &= over - 1 {
		h.run.recordPFC(now, int(h.node), h.portID, uint8(bits.TrailingZeros8(over)), packet.Resume)
	}
	h.expiry = h.port.NextExpiry()
	h.releaseHeld()
}

// Dequeue returns the next packet to send, or nil, and when to call again (fabric.Node). Packets in the NIC's queues
// precede the packets of ready flows. It counts the packet as sent.
func (h *host) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	h.woken = false
	p, _, _ := h.port.DequeueNext(now)
	if p == nil {
		p = h.emitNext(now)
	}
	if p != nil {
		h.port.CountSent(p)
	}
	h.scheduled = h.earliestSend(now)
	return p, h.scheduled
}

// emitNext returns a packet of the next flow that may send; nil: there is no such flow. It sets aside slots with a
// paused class (held).
func (h *host) emitNext(now unit.Time) *packet.Packet {
	h.enqueueDue(now)
	for h.ready >= 0 {
		i := h.ready
		s := &h.slot[i]
		if h.ready = s.next; h.ready < 0 {
			h.readyTail = -1
		}
		if h.port.PausedQueues()&(1<<s.class) != 0 {
			h.held = append(h.held, i)
			continue
		}
		s.ready = false
		if s.endpoint.NextSend() > now { // it was ready, but its window has closed
			h.updateSlot(i, now)
			continue
		}
		h.made++
		p := h.thread.pool.Get()
		p.Flow, p.Src, p.Dst = s.flow, s.src, s.dst
		p.Meta.Class = s.class
		p.Sent = now
		s.endpoint.Emit(now, p)
		h.updateSlot(i, now)
		return p
	}
	return nil
}

// setTimer computes when Advance is due next, after timers have expired or pauses and stalls have changed. Packets
// only add timers, which updateSlot handles, so that the first timer is not searched for each time.
func (h *host) setTimer() {
	h.wants.Timer = min(h.nextTimer(), h.expiry, h.stall)
	if h.jobs != nil {
		h.wants.Timer = min(h.wants.Timer, h.jobs.next)
	}
}

// nextTimer returns the first of the endpoints' timers; unit.Never without one. It removes stale entries.
func (h *host) nextTimer() unit.Time {
	for {
		t := h.timers.FirstTime()
		if t == unit.Never {
			return t
		}
		e := h.timers.FirstEntry()
		if i := int32(e.Key); i == stale || h.slot[i].flow == packet.FlowID(e.Key>>32) && h.slot[i].timerAt == t {
			return t
		}
		h.timers.Take()
	}
}

// Advance runs the timers that have expired by now: pauses, stalls, endpoints' timers and ranks (fabric.Node).
func (h *host) Advance(now unit.Time) {
	if h.expiry <= now {
		h.expirePauses(now)
	}
	if h.stall <= now {
		h.endStall(now)
	}
	for h.timers.FirstTime() <= now {
		e := h.timers.Take()
		i := int32(e.Key)
		if i == stale {
			continue
		}
		s := &h.slot[i]
		if s.flow != packet.FlowID(e.Key>>32) || s.timerAt != e.At {
			continue
		}
		s.timerAt = unit.Never
		if t := s.endpoint.NextTimer(); t <= now {
			s.endpoint.Advance(now)
		}
		h.updateSlot(i, now)
	}
	if h.jobs != nil {
		h.jobs.runDue(h, now)
	}
	h.reschedule(now)
	h.setTimer()
}
