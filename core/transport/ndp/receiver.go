package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Receiver is the receiving half of a flow. It acknowledges each packet, or NACKs its
// header if that is all that has come, and puts a PULL for it into its host's queue.
type Receiver struct {
	ends
	counters transport.Counters

	arrived  transport.Arrivals
	trimmed  transport.Bitmap // packets whose header has arrived, and nothing else
	refused  int64            // how many these are
	returned int64            // packets of the first window that switches sent back, as the sender reports
	drained  bool             // what is new to the sender needs no PULL any more

	nic    *transport.NIC[reply] // what it is making; nil: it takes no time
	queue  *pulls
	member member
	gap    unit.Time // between PULLs
	pulled int64     // PULLs sent
	nacks  int64
}

// reply is an ACK or NACK of a packet.
type reply struct {
	kind     packet.Kind
	flags    uint8
	seq, ack int64
}

func newReceiver(f transport.Flow, c Config, q *pulls, gap unit.Time) *Receiver {
	r := &Receiver{ends: newEnds(&f, true), queue: q, gap: gap,
		nic: transport.NewNIC[reply](c.NIC), member: member{flow: f.ID, ring: 1}}
	if c.Priority {
		r.member.ring = 0
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
	return r
}

// Counters returns what was counted. Finished is when the last byte came; ReceivedBytes
// counts a packet when it comes, in order or not.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// Expected returns the first byte that has not arrived, from 0.
func (r *Receiver) Expected() int64 { return r.seq(r.arrived.Expected) }

// Nacks returns the number of NACKs since the start, one for each header that arrived without its payload and before
// it.
func (r *Receiver) Nacks() int64 { return r.nacks }

// Receive takes a data packet or what is left of it, and makes its ACK or NACK of it.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	c := &r.counters
	c.ReceivedPackets++
	probe := p.Payload == 0 && probeNumber(p) > 0
	if probe {
		c.ReceivedPackets--
	}
	n := r.number(p.Seq, r.arrived.Expected)
	if p.Kind != packet.Data || !r.mine(p) || n < 0 || n >= r.packets || n-r.arrived.Expected >= mostOut ||
		p.Payload != 0 && int64(p.Payload) != r.bytes(n) {
		return false
	}
	kind := packet.Ack
	switch {
	case r.arrived.Has(n):
		if !probe { // which is no copy
			c.CountDuplicate(p)
		} // its ACK may be lost; a PULL was sent for it
	case p.Payload == 0:
		kind = packet.Nack
		r.nacks++
		if !r.trimmed.Has(n, r.arrived.Expected) {
			r.trimmed.Add(n, r.arrived.Expected)
			r.refused++
		}
		r.queue.add(now, &r.member, 1)
	default:
		if r.trimmed.Has(n, r.arrived.Expected) {
			r.trimmed.Remove(n)
			r.refused--
		}
		r.arrived.Add(n)
		c.ReceivedBytes += unit.Bytes(p.Payload)
		c.Delay(now - p.Sent)
		if r.arrived.Expected == r.packets {
			c.Finished = now
		}
		r.queue.add(now, &r.member, 1)
	}
	// A header that was sent back is one that never came: it is owed a PULL (doc.go).
	if told := unwrap(p.Ack, r.returned); told > r.returned && told-r.returned <= mostOut {
		r.queue.add(now, &r.member, told-r.returned)
		r.returned = told
	}
	if p.TCP.Flags&packet.FIN != 0 {
		r.drained = true
	}
	switch {
	case r.arrived.Expected == r.packets:
		r.queue.cut(&r.member, 0)
	case r.drained: // NDP §3.2: after the last packet PULLs are for what is to be sent again
		r.queue.cut(&r.member, r.refused+r.returned)
	}
	pipeline, flags := kind, uint8(0)
	if probe { // its answer goes behind all others
		pipeline, flags = packet.Probe, probeNumber(p)<<probeShift
	}
	if r.nic != nil && r.nic.Takes(pipeline) {
		*r.nic.Keep(now, pipeline) = reply{kind, flags, p.Seq, r.seq(r.arrived.Expected)}
		return false
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	if p.Extended() {
		p.ClearExtensions()
	}
	r.fill(p, kind, p.Seq, r.seq(r.arrived.Expected), 0, flags)
	return true
}

// Replies reports whether a NIC delays replies (transport.Replier).
func (r *Receiver) Replies() bool { return r.nic != nil }

// NextSend is when the host's next PULL may go, if it is this flow's turn, or when the NIC has made an answer.
func (r *Receiver) NextSend() unit.Time {
	t := unit.Never
	if r.nic != nil {
		t = r.nic.Next()
	}
	if r.queue.head() != &r.member {
		return t
	}
	return min(t, r.queue.pacer.Next())
}

// Emit sends an answer that the NIC has made, or a PULL: its number, which counts the flow's, as sequence number. One
// that is lost is made good by the next.
func (r *Receiver) Emit(now unit.Time, p *packet.Packet) {
	if r.nic != nil && r.nic.Next() <= now {
		x := r.nic.Take()
		r.fill(p, x.kind, x.seq, x.ack, 0, x.flags)
		return
	}
	r.queue.send(now, r.gap)
	r.pulled++
	r.fill(p, packet.Notice, r.pulled, r.seq(r.arrived.Expected), 0, 0)
}

// Rescheduled names the flow whose turn it is, when that has changed.
func (r *Receiver) Rescheduled() (packet.FlowID, bool) {
	if r.queue.pacer.TakeChange() {
		if m := r.queue.head(); m != nil {
			return m.flow, true
		}
	}
	return 0, false
}

// NextTimer is never: what is lost is the sender's to find.
func (r *Receiver) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (r *Receiver) Advance(unit.Time) {}
