package sim

import (
	"math/bits"

	"weir/core/dataplane/tm"
	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// host is a NIC of an end host, which mostly has one (nics): the endpoints of its flows, and a port of
// the kind that switches have, which is the NIC. What endpoints want to send
// stays with them until the NIC is free (the queue is unlimited and
// back-pressures); replies, which exist already, wait in the port's queues and
// go first, and so do replies that were delayed. Ready flows are served round robin. It implements fabric.Node.
type host struct {
	port        *tm.Port
	thread      *thread
	run         *Simulation
	observation *observation // nil: nothing is noted
	slot        []slot
	unused      []int32         // slots without an endpoint
	finished    []packet.FlowID // flows from here whose senders have, and whose ends are not given back
	failed      error           // an endpoint could not be made
	jobs        *ranks          // of jobs that are here; nil: there are none

	ready      int32 // first slot of the ring of those that may send, −1: none
	readyTail  int32
	lastReply  int32            // last slot of the ring that sends replies, if there are two
	held       []int32          // slots that may send but whose class is paused
	sends      timerheap.Heap   // slots that will send later, and flows that will begin; others are stale (current)
	timers     timerheap.Heap   // likewise
	expiry     unit.Time        // when a pause ends by itself
	stall      unit.Time        // when a stall ends; Never: there is none
	kept       []*packet.Packet // came in during it
	node       int32
	number     int32     // of the NIC (topology.NICs); of the first one the node
	scheduled  unit.Time // when the driver will ask by itself
	wants      packet.Wants
	at         packet.PortID // the node's port that it is
	woken      bool          // that time has come forward, and the driver knows
	unexpected uint64        // packets of no flow of this host
	late       uint64        // of them, of flows whose ends were given back: there should be none
	made       uint64        // packets that endpoints have sent, but for replies
	ended      uint64        // packets that came in and were no replies

	strays map[packet.FlowID]*stray // the unexpected packets by flow
}

// slot is one endpoint of a flow at this host.
type slot struct {
	endpoint     transport.Endpoint     // nil: it was given back
	rescheduling transport.Rescheduling // the same, if it is; or nil
	counters     *transport.Counters
	sendAt       unit.Time // what sends holds for it, Never if nothing
	timerAt      unit.Time // what timers holds for it
	next         int32     // in the ring of ready slots
	flow         packet.FlowID
	src, dst     packet.Addr
	srcPort      uint16
	dstPort      uint16
	class        uint8
	replies      bool // what it sends are replies that were delayed (transport.Replier)
	awaited      bool // a receiver that other flows wait for
	ready        bool
	finite       bool // a sender with an end that has not come yet
}

func newHost(r *Simulation, node int, rate unit.LinkRate) *host {
	return &host{
		node: int32(node), number: int32(node), expiry: unit.Never, stall: unit.Never,
		port:   tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		thread: r.thread(node), run: r, ready: -1, readyTail: -1, scheduled: unit.Never,
	}
}

// add gives the host an endpoint and returns its slot.
func (h *host) add(s slot) int32 {
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

// timerEntry is an entry of sends or timers. At one time flows go in their order in Config.Flows.
func (h *host) timerEntry(at unit.Time, flow packet.FlowID, i int32) timerheap.Entry {
	return timerheap.Entry{At: at, Key: uint64(flow)<<32 | uint64(uint32(i))}
}

// update reads what slot i wants after a call into it.
func (h *host) update(i int32, now unit.Time) {
	s := &h.slot[i]
	if h.observation != nil {
		h.observation.called(h, i, now)
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
				h.update(k, now)
			}
		}
	}
	if s.finite && s.counters.Finished != unit.Never {
		s.finite = false
		h.finished = append(h.finished, s.flow)
		h.thread.finished(s.counters.Finished)
		flow, at := s.flow, max(now, s.counters.Finished)
		if h.run.triggers.activates(flow, false) {
			h.activate(now, flow, false)
		}
		if h.run.isMessage(flow) {
			h.run.jobs.sent(flow, at)
		}
	}
}

// enqueue appends slot i to the ring of ready ones. Those that send replies go before the others, first in, first out.
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

// enqueueReplies inserts slot i, which sends replies, into a ring that is not empty: after the last one of those in the
// ring. With two of them in the ring the last one came in here, as the ring was not empty, and is lastReply.
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

// due moves the slots whose time has come into the ring.
func (h *host) due(now unit.Time) {
	for h.sends.First() <= now {
		e := h.sends.Take()
		i := int32(e.Key)
		if i == pending {
			if i = h.start(packet.FlowID(e.Key>>32), now); i < 0 {
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

// earliest is when the NIC could send.
func (h *host) earliest(now unit.Time) unit.Time {
	if h.ready >= 0 || !h.port.Idle() {
		return now
	}
	return max(h.nextSend(), now)
}

// nextSend is when the first of the slots that will send later does.
func (h *host) nextSend() unit.Time {
	for {
		t := h.sends.First()
		if t == unit.Never {
			return t
		}
		e := h.sends.Head()
		if i := int32(e.Key); i == pending || h.slot[i].flow == packet.FlowID(e.Key>>32) && h.slot[i].sendAt == t {
			return t
		}
		h.sends.Take()
	}
}

// reschedule has the driver come earlier, if a packet can be sent before it would come by itself.
func (h *host) reschedule(now unit.Time) {
	if h.scheduled <= now {
		return
	}
	if t := h.earliest(now); t < h.scheduled {
		h.scheduled = t
		if !h.woken {
			h.woken = true
			h.wants.Wake(0)
		}
	}
}

// Wants is what the NIC and the timers want (fabric.Node).
func (h *host) Wants() *packet.Wants {
	h.setTimer()
	return &h.wants
}

func (h *host) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	if p.Kind == packet.Pause || p.Kind == packet.Resume {
		h.onPFC(now, p)
		h.put(p)
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

// deliver gives a packet to its endpoint.
func (h *host) deliver(now unit.Time, p *packet.Packet) {
	i := h.run.endpoint(h, p)
	if i < 0 {
		if h.onStray(p); i == closed {
			h.late++
		}
		h.put(p)
		return
	}
	s := &h.slot[i]
	if h.observation != nil {
		h.observation.arrived(h, i, now, p)
	}
	if s.endpoint.Receive(now, p) {
		p.Sent, p.Enqueued = now, now
		p.Meta = packet.Metadata{Class: s.class}
		h.port.Push(s.class, p)
	} else {
		h.put(p)
	}
	h.update(i, now)
}

// put takes back a packet that ends here.
func (h *host) put(p *packet.Packet) {
	h.ended++
	h.thread.pool.Put(p)
}

// beginStall begins a stall, or makes one longer.
func (h *host) beginStall(until unit.Time) { h.stall = until }

// endStall ends it: what arrived meanwhile is delivered.
func (h *host) endStall(now unit.Time) {
	h.stall = unit.Never
	for _, p := range h.kept {
		h.deliver(now, p)
	}
	clear(h.kept)
	h.kept = h.kept[:0]
}

// onPFC pauses a class of the NIC, or resumes it.
func (h *host) onPFC(now unit.Time, p *packet.Packet) {
	class := p.Meta.Class % tm.Classes
	if p.Kind == packet.Pause {
		h.port.Pause(now, class, p.Seq)
		h.expiry = h.port.NextExpiry()
	} else {
		h.port.Resume(now, class)
		h.release()
	}
	h.run.pfc(now, int(h.node), h.at, class, p.Kind)
}

// release makes slots available whose class may send again; emit removes the others.
func (h *host) release() {
	for _, i := range h.held {
		h.enqueue(i)
	}
	h.held = h.held[:0]
}

// expire ends the pauses whose time is over.
func (h *host) expire(now unit.Time) {
	before := h.port.Held()
	h.port.Expire(now)
	for over := before &^ h.port.Held(); over != 0; over &= over - 1 {
		h.run.pfc(now, int(h.node), h.at, uint8(bits.TrailingZeros8(over)), packet.Resume)
	}
	h.expiry = h.port.NextExpiry()
	h.release()
}

func (h *host) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	h.woken = false
	p, _, _ := h.port.Next(now)
	if p == nil {
		p = h.emit(now)
	}
	if p != nil {
		h.port.Sent(p)
	}
	h.scheduled = h.earliest(now)
	return p, h.scheduled
}

// emit takes a packet from the next flow that may send.
func (h *host) emit(now unit.Time) *packet.Packet {
	h.due(now)
	for h.ready >= 0 {
		i := h.ready
		s := &h.slot[i]
		if h.ready = s.next; h.ready < 0 {
			h.readyTail = -1
		}
		if h.port.Paused()&(1<<s.class) != 0 {
			h.held = append(h.held, i)
			continue
		}
		s.ready = false
		if s.endpoint.NextSend() > now { // it was ready once, but something closed its window
			h.update(i, now)
			continue
		}
		h.made++
		p := h.thread.pool.Get()
		p.Flow, p.Src, p.Dst = s.flow, s.src, s.dst
		p.Meta.Class = s.class
		p.Sent = now
		s.endpoint.Emit(now, p)
		h.update(i, now)
		return p
	}
	return nil
}

// setTimer finds when Advance is due next, after timers have gone or pauses and stalls have changed. Packets that come
// and go only add timers, which update takes in: to look for the first anew each time took 2 % of a run's instructions.
func (h *host) setTimer() {
	h.wants.Timer = min(h.nextTimer(), h.expiry, h.stall)
	if h.jobs != nil {
		h.wants.Timer = min(h.wants.Timer, h.jobs.next)
	}
}

// nextTimer is the first of the endpoints' timers.
func (h *host) nextTimer() unit.Time {
	for {
		t := h.timers.First()
		if t == unit.Never {
			return t
		}
		e := h.timers.Head()
		if i := int32(e.Key); i == stale || h.slot[i].flow == packet.FlowID(e.Key>>32) && h.slot[i].timerAt == t {
			return t
		}
		h.timers.Take()
	}
}

func (h *host) Advance(now unit.Time) {
	if h.expiry <= now {
		h.expire(now)
	}
	if h.stall <= now {
		h.endStall(now)
	}
	for h.timers.First() <= now {
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
		h.update(i, now)
	}
	if h.jobs != nil {
		h.jobs.advance(h, now)
	}
	h.reschedule(now)
	h.setTimer()
}
