package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Receiver is the receiving half of a flow. It sends an ACK of each packet, or a NACK if only its header has arrived,
// and puts a PULL for it into its host's queue.
type Receiver struct {
	ends
	counters transport.Counters

	arrived  transport.Arrivals
	trimmed  transport.Bitmap // packets with only their header arrived
	refused  int64            // number of these packets
	returned int64            // packets of the first window that switches sent back, as the sender reports
	drained  bool             // the sender's new packets need no PULL any more

	nic    *transport.NIC[reply] // answers that the NIC makes; nil: without delays
	queue  *pulls
	member member
	gap    unit.Time // between PULLs
	pulled int64     // PULLs sent
	nacks  int64     // NACKs sent, one for each header that arrived without its payload and before it
}

// reply is an ACK or NACK of a packet.
type reply struct {
	kind     packet.Kind
	flags    uint8
	seq, ack int64
}

// newReceiver returns the receiver of flow f with its host's pull queue q. gap is the time between its PULLs.
func newReceiver(f transport.Flow, c Config, q *pulls, gap unit.Time) *Receiver {
	r := &Receiver{ends: newEnds(&f, true), queue: q, gap: gap,
		nic: transport.NewNIC[reply](c.NIC), member: member{flow: f.ID, ring: 1}}
	if c.Priority {
		r.member.ring = 0
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
	return r
}

// Counters returns the receiver's counters. Finished is when the last byte arrived. ReceivedBytes counts a packet on
// arrival, in order or not.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// Receive handles a data packet or a header p, turns it into its ACK or NACK, and queues PULLs for it. It returns true
// if p is that answer, and false if the NIC delays the answer. A packet of another flow, too far ahead or with a wrong
// payload has no effect.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	c := &r.counters
	c.ReceivedPackets++
	probe := p.Payload == 0 && probeNumber(p) > 0
	if probe {
		c.ReceivedPackets--
	}
	n := r.findPacket(p.Seq, r.arrived.Expected)
	if p.Kind != packet.Data || !r.isFromPeer(p) || n < 0 || n >= r.packets || n-r.arrived.Expected >= maxOutstanding ||
		p.Payload != 0 && int64(p.Payload) != r.payloadOf(n) {
		return false
	}
	kind := packet.Ack
	switch {
	case r.arrived.Has(n):
		if !probe { // a probe is no copy
			c.CountDuplicate(p)
		} // its ACK may be lost; a PULL was sent for it
	case p.Payload == 0:
		kind = packet.Nack
		r.nacks++
		if !r.trimmed.Has(n, r.arrived.Expected) {
			r.trimmed.Add(n, r.arrived.Expected)
			r.refused++
		}
		r.queue.addPulls(now, &r.member, 1)
	default:
		if r.trimmed.Has(n, r.arrived.Expected) {
			r.trimmed.Remove(n)
			r.refused--
		}
		r.arrived.Add(n)
		c.ReceivedBytes += unit.Bytes(p.Payload)
		c.AddDelay(now - p.Sent)
		if r.arrived.Expected == r.packets {
			c.Finished = now
		}
		r.queue.addPulls(now, &r.member, 1)
	}
	// The packet of a header that was sent back has not arrived: it is owed a PULL (doc.go).
	if returned := unwrapNumber(p.Ack, r.returned); returned > r.returned && returned-r.returned <= maxOutstanding {
		r.queue.addPulls(now, &r.member, returned-r.returned)
		r.returned = returned
	}
	if p.TCP.Flags&packet.FIN != 0 {
		r.drained = true
	}
	switch {
	case r.arrived.Expected == r.packets:
		r.queue.limitPulls(&r.member, 0)
	case r.drained: // NDP §3.2: after the last packet PULLs are for packets to be resent
		r.queue.limitPulls(&r.member, r.refused+r.returned)
	}
	pipeline, flags := kind, uint8(0)
	if probe { // its answer follows all others
		pipeline, flags = packet.Probe, probeNumber(p)<<probeShift
	}
	if r.nic != nil && r.nic.MustQueue(pipeline) {
		*r.nic.QueueAnswer(now, pipeline) = reply{kind, flags, p.Seq, r.packetSeq(r.arrived.Expected)}
		return false
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	if p.HasExtensions() {
		p.ClearExtensions()
	}
	r.fillHeaders(p, kind, p.Seq, r.packetSeq(r.arrived.Expected), 0, flags)
	return true
}

// Replies reports whether a NIC delays replies (transport.Replier).
func (r *Receiver) Replies() bool { return r.nic != nil }

// NextSend returns when the host's next PULL may go, if it is this flow's turn, or when the NIC has made an answer.
func (r *Receiver) NextSend() unit.Time {
	t := unit.Never
	if r.nic != nil {
		t = r.nic.NextReady()
	}
	if r.queue.nextMember() != &r.member {
		return t
	}
	return min(t, r.queue.pacer.NextPull())
}

// Emit fills p with an answer that the NIC has made, or else a PULL; the flow must have the turn. The PULL's sequence
// number counts the flow's PULLs, so that the next one makes up for a lost one.
func (r *Receiver) Emit(now unit.Time, p *packet.Packet) {
	if r.nic != nil && r.nic.NextReady() <= now {
		x := r.nic.TakeAnswer()
		r.fillHeaders(p, x.kind, x.seq, x.ack, 0, x.flags)
		return
	}
	r.queue.sendPull(now, r.gap)
	r.pulled++
	r.fillHeaders(p, packet.Notice, r.pulled, r.packetSeq(r.arrived.Expected), 0, 0)
}

// Rescheduled returns the flow with the host's next turn for a PULL, and true, if that has changed since the last call
// of any flow of the host. Otherwise, or without such a flow, it returns false.
func (r *Receiver) Rescheduled() (packet.FlowID, bool) {
	if r.queue.pacer.TakeChange() {
		if m := r.queue.nextMember(); m != nil {
			return m.flow, true
		}
	}
	return 0, false
}

// NextTimer returns unit.Never: the sender finds losses.
func (r *Receiver) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (r *Receiver) Advance(unit.Time) {}
