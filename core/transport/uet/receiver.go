package uet

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Receiver is the receiving half of a flow.
type Receiver struct {
	ends
	config   *Config
	counters transport.Counters
	pacer    *pacer // nil: the sender controls alone
	own      uint16 // port of the flow's sender, beside those of its paths
	member   member

	arrived  transport.Arrivals
	memory   [4]uint64 // of arrived, until it grows
	got      int64     // bytes of frames, in all
	payloads int64     // bytes of payload, in all
	since    int64     // bytes of frames since the last acknowledgement
	asked    bool      // acknowledge once nothing is missing
	nacks    int64

	nic *transport.NIC[answer] // what it is making; nil: it takes no time
}

// begin makes it the receiver of a flow, whatever it was.
func (r *Receiver) begin(f *transport.Flow, c *Config, e ends, first uint16, p *pacer) {
	*r = Receiver{ends: e, config: c, pacer: p, own: f.SrcPort}
	r.nic = transport.NewNIC[answer](transport.NICDelays{Ack: c.AckDelay, Nack: c.NackDelay})
	r.arrived = transport.NewArrivals(r.memory[:])
	r.first = first
	r.member = member{flow: f.ID, most: int64(c.Ahead*float64(e.product)) / int64(c.Quantum)}
	if p != nil {
		r.member.perQuantum = 8e12 * float64(c.Quantum) / (float64(f.Path.ReceiverRate) * c.PullRate)
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
}

// Counters returns what was counted. Finished is when the last byte came; ReceivedBytes
// counts a packet when it comes, in order or not.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// Nacks is how many were sent.
func (r *Receiver) Nacks() int64 { return r.nacks }

// Ports are the source ports that the sender may have.
func (r *Receiver) Ports() []uint16 {
	n := int(r.paths) + 1
	if r.pacer != nil {
		n = max(n, r.config.PullEntropy) // they begin with the same one
	}
	var ports []uint16
	for i := range n {
		if port := r.first + uint16(i); port != r.own {
			ports = append(ports, port)
		}
	}
	return ports
}

// Receive takes a packet of the sender, and makes an answer of it if one is due.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	r.counters.ReceivedPackets++
	n := p.Seq
	if p.Kind != packet.Data || p.DstPort != r.port || p.SrcPort&^r.paths != r.first || p.Proto != packet.ProtoOwn ||
		n-r.arrived.Expected > int64(r.config.Reorder) && (p.Payload > 0 || p.TCP.Flags&probing == 0) {
		return false
	}
	flags := p.TCP.Flags
	if p.Payload > 0 {
		return r.data(now, p)
	}
	switch {
	case flags&packet.Trimmable != 0:
		return r.trimmed(now, p)
	case flags&probing != 0:
		a := r.acknowledge(n, p.SrcPort, max(n-63, r.arrived.Expected+1), probing)
		return r.reply(now, p, &a)
	}
	return r.request(now, p)
}

// acknowledge is an acknowledgement.
func (r *Receiver) acknowledge(caused int64, ev uint16, base int64, flags uint8) answer {
	r.since = 0
	return answer{ev: ev, flags: flags, caused: caused, expected: r.arrived.Expected, base: base,
		bitmap: r.arrived.Bits(base), got: r.got, ahead: r.arrived.Ahead, penalty: noPenalty}
}

// noPenalty leaves the sender its window.
const noPenalty = 255

// base is where the bitmap begins if nobody has asked for more: it ends with the packet, and has none in order.
func (r *Receiver) base(n int64) int64 { return max(n-63, r.arrived.Expected+1) }

// data takes a packet with payload.
func (r *Receiver) data(now unit.Time, p *packet.Packet) bool {
	n, c := p.Seq, &r.counters
	size := r.header + int64(p.Payload)
	r.since += size
	r.demand(now, p.Ack, false)
	marks := p.TOS&packet.ECN == packet.CE
	var way arrivals
	if marks {
		way.marked = 1
	}
	r.slow(now, way)
	var flags uint8
	if marks {
		flags |= echoes
	}
	flags |= p.TCP.Flags & again
	if r.arrived.Has(n) {
		c.CountDuplicate(p)
		base := r.base(n)
		if marks {
			base = n
		}
		a := r.acknowledge(n, p.SrcPort, base, flags)
		return r.reply(now, p, &a)
	}
	force := r.got == 0
	r.got += size
	r.payloads += int64(p.Payload)
	c.ReceivedBytes += unit.Bytes(p.Payload)
	c.Delay(now - p.Sent)
	asks := p.TCP.Flags&asks != 0
	if asks {
		force, r.asked = true, true
	}
	r.arrived.Add(n)
	if r.arrived.Ahead == 0 && r.asked && n < r.arrived.Expected {
		force, r.asked = true, false
	}
	if r.payloads == r.size {
		c.Finished = now
		if r.pacer != nil {
			r.pacer.leave(&r.member)
		}
	}
	if !marks && !force && r.since < int64(r.config.AckBytes) {
		return false
	}
	base := r.base(n)
	if marks || asks {
		base = n
	}
	a := r.acknowledge(n, p.SrcPort, base, flags)
	return r.reply(now, p, &a)
}

// trimmed takes what is left of a trimmed packet.
func (r *Receiver) trimmed(now unit.Time, p *packet.Packet) bool {
	n := p.Seq
	way := arrivals{trimmed: 1}
	if p.TCP.Flags&packet.LastHop == 0 {
		way.within = 1
	}
	r.slow(now, way)
	if r.arrived.Has(n) {
		since := r.since
		a := r.acknowledge(n, p.SrcPort, r.base(n), p.TCP.Flags&again)
		r.since = since
		return r.reply(now, p, &a)
	}
	r.nacks++
	r.demand(now, p.Ack, true)
	a := answer{nack: true, ev: p.SrcPort, caused: n, expected: r.arrived.Expected,
		flags: p.TCP.Flags & (packet.LastHop | again)}
	if p.TOS&packet.ECN == packet.CE {
		a.flags |= echoes
	}
	return r.reply(now, p, &a)
}

// slow tells the pacer of what has become of a packet on its way, if the network is oversubscribed.
func (r *Receiver) slow(now unit.Time, way arrivals) {
	if r.pacer != nil && r.pacer.slow != nil {
		r.pacer.slow.came(now, way)
	}
}

// request takes a request to send, which has a number like data.
func (r *Receiver) request(now unit.Time, p *packet.Packet) bool {
	r.slow(now, arrivals{})
	n := p.Seq
	r.demand(now, p.Ack, true)
	base := n
	if r.arrived.Has(n) {
		r.counters.CountDuplicate(p)
		base = r.base(n)
	} else {
		r.arrived.Add(n)
		if n < r.arrived.Expected && r.arrived.Ahead == 0 {
			r.asked = false
		}
	}
	since := r.since
	a := r.acknowledge(n, p.SrcPort, base, requests|p.TCP.Flags&again)
	r.since = since
	return r.reply(now, p, &a)
}

// demand takes a sender's target for its credit; anew says that it has to send something again.
func (r *Receiver) demand(now unit.Time, target int64, anew bool) {
	if r.pacer == nil {
		return
	}
	raised := target > r.member.target
	if raised {
		r.member.target = target
	}
	if raised || anew {
		r.pacer.request(now, &r.member)
	}
}

// reply turns p into an answer, or keeps that until the NIC has made it.
func (r *Receiver) reply(now unit.Time, p *packet.Packet, a *answer) bool {
	if r.nic != nil {
		kind := packet.Ack
		if a.nack {
			kind = packet.Nack
		}
		if r.nic.Takes(kind) {
			*r.nic.Keep(now, kind) = *a
			return false
		}
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	a.write(&r.ends, p)
	return true
}

// NextSend is when an answer is made, or when the host's next PULL may go, if it is this flow's turn.
func (r *Receiver) NextSend() unit.Time {
	t := unit.Never
	if r.nic != nil {
		t = r.nic.Next()
	}
	if r.pacer != nil && r.pacer.head() == &r.member {
		t = min(t, r.pacer.Next())
	}
	return t
}

// Emit sends an answer or a PULL: the units that it has given in all, as sequence number. One that is lost is made
// good by the next.
func (r *Receiver) Emit(now unit.Time, p *packet.Packet) {
	if r.nic != nil && r.nic.Next() <= now {
		r.nic.Take().write(&r.ends, p)
		return
	}
	r.member.turns++
	p.Seq = r.pacer.send(now, int64(r.config.PullQuanta), int64(r.config.PullIdle))
	r.fill(p, packet.Notice, r.pullPort(r.member.turns), false, 0, 0)
}

// pullPort is the entropy value of a PULL.
func (r *Receiver) pullPort(n int64) uint16 { return r.first + uint16(n%int64(r.config.PullEntropy)) }

// Rescheduled names the flow whose turn it is, when that has changed.
func (r *Receiver) Rescheduled() (packet.FlowID, bool) {
	if r.pacer != nil && r.pacer.TakeChange() {
		if m := r.pacer.head(); m != nil {
			return m.flow, true
		}
	}
	return 0, false
}

// NextTimer is never: what is lost is the sender's to find.
func (r *Receiver) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (r *Receiver) Advance(unit.Time) {}
