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
	pacer    *pacer // nil: only the sender controls
	flowPort uint16 // port of the flow's sender, in addition to those of its paths
	member   member

	arrived  transport.Arrivals
	memory   [4]uint64 // memory of arrived, until that grows
	got      int64     // total bytes of frames
	payloads int64     // total bytes of payload
	since    int64     // bytes of frames since the last acknowledgement
	asked    bool      // acknowledge when no packet is missing
	nacks    int64     // NACKs sent

	nic *transport.NIC[answer] // answers that the NIC makes; nil: without delays
}

// initReceiver makes r the receiver of flow f, and removes all earlier state. first is the first entropy value; p is
// nil without credit.
func (r *Receiver) initReceiver(f *transport.Flow, c *Config, e ends, first uint16, p *pacer) {
	*r = Receiver{ends: e, config: c, pacer: p, flowPort: f.SrcPort}
	r.nic = transport.NewNIC[answer](transport.NICDelays{Ack: c.AckDelay, Nack: c.NackDelay})
	r.arrived = transport.NewArrivals(r.memory[:])
	r.first = first
	r.member = member{flow: f.ID, maxAhead: int64(c.Ahead*float64(e.product)) / int64(c.Quantum)}
	if p != nil {
		r.member.perQuantum = 8e12 * float64(c.Quantum) / (float64(f.Path.ReceiverRate) * c.PullRate)
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
}

// Counters returns the receiver's counters. Finished is when the last byte arrived. ReceivedBytes counts a packet on
// arrival, in order or not.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// Ports returns the source ports that the sender may have in addition to the flow's own.
func (r *Receiver) Ports() []uint16 {
	n := int(r.paths) + 1
	if r.pacer != nil {
		n = max(n, r.config.PullEntropy) // both begin with the same value
	}
	var ports []uint16
	for i := range n {
		if port := r.first + uint16(i); port != r.flowPort {
			ports = append(ports, port)
		}
	}
	return ports
}

// Receive handles a packet of the sender, and turns it into an answer if one is due, which the result reports.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	r.counters.ReceivedPackets++
	n := p.Seq
	if p.Kind != packet.Data || p.DstPort != r.port || p.SrcPort&^r.paths != r.first || p.Proto != packet.ProtoOwn ||
		n-r.arrived.Expected > int64(r.config.Reorder) && (p.Payload > 0 || p.TCP.Flags&probing == 0) {
		return false
	}
	flags := p.TCP.Flags
	if p.Payload > 0 {
		return r.handleData(now, p)
	}
	switch {
	case flags&packet.Trimmable != 0:
		return r.handleTrimmed(now, p)
	case flags&probing != 0:
		a := r.newAck(n, p.SrcPort, max(n-63, r.arrived.Expected+1), probing)
		return r.replyWith(now, p, &a)
	}
	return r.handleRequest(now, p)
}

// newAck returns an acknowledgement with this cause and entropy value. Its bitmap begins at base. The count of bytes
// since the last acknowledgement restarts.
func (r *Receiver) newAck(caused int64, ev uint16, base int64, flags uint8) answer {
	r.since = 0
	return answer{ev: ev, flags: flags, caused: caused, expected: r.arrived.Expected, base: base,
		bitmap: r.arrived.Bits(base), got: r.got, ahead: r.arrived.Ahead, penalty: noPenalty}
}

// noPenalty leaves the sender its window.
const noPenalty = 255

// bitmapBase returns the start of the bitmap if the sender has not asked for more. It ends with packet n, and begins
// after the packets in order.
func (r *Receiver) bitmapBase(n int64) int64 { return max(n-63, r.arrived.Expected+1) }

// handleData counts a packet with payload as arrived, and updates the credit. It reports whether p became an answer,
// which is due for marks, duplicates, requests, and every AckBytes.
func (r *Receiver) handleData(now unit.Time, p *packet.Packet) bool {
	n, c := p.Seq, &r.counters
	size := r.header + int64(p.Payload)
	r.since += size
	r.updateTarget(now, p.Ack, false)
	marks := p.TOS&packet.ECN == packet.CE
	var way arrivals
	if marks {
		way.marked = 1
	}
	r.recordOutcome(now, way)
	var flags uint8
	if marks {
		flags |= echoes
	}
	flags |= p.TCP.Flags & again
	if r.arrived.Has(n) {
		c.CountDuplicate(p)
		base := r.bitmapBase(n)
		if marks {
			base = n
		}
		a := r.newAck(n, p.SrcPort, base, flags)
		return r.replyWith(now, p, &a)
	}
	force := r.got == 0
	r.got += size
	r.payloads += int64(p.Payload)
	c.ReceivedBytes += unit.Bytes(p.Payload)
	c.AddDelay(now - p.Sent)
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
			r.pacer.removeMember(&r.member)
		}
	}
	if !marks && !force && r.since < int64(r.config.AckBytes) {
		return false
	}
	base := r.bitmapBase(n)
	if marks || asks {
		base = n
	}
	a := r.newAck(n, p.SrcPort, base, flags)
	return r.replyWith(now, p, &a)
}

// handleTrimmed handles the header of a trimmed packet, and reports whether p became an answer.
func (r *Receiver) handleTrimmed(now unit.Time, p *packet.Packet) bool {
	n := p.Seq
	way := arrivals{trimmed: 1}
	if p.TCP.Flags&packet.LastHop == 0 {
		way.within = 1
	}
	r.recordOutcome(now, way)
	if r.arrived.Has(n) {
		since := r.since
		a := r.newAck(n, p.SrcPort, r.bitmapBase(n), p.TCP.Flags&again)
		r.since = since
		return r.replyWith(now, p, &a)
	}
	r.nacks++
	r.updateTarget(now, p.Ack, true)
	a := answer{nack: true, ev: p.SrcPort, caused: n, expected: r.arrived.Expected,
		flags: p.TCP.Flags & (packet.LastHop | again)}
	if p.TOS&packet.ECN == packet.CE {
		a.flags |= echoes
	}
	return r.replyWith(now, p, &a)
}

// recordOutcome passes the outcome of a packet on its way to the pacer's slowdown, if the network is oversubscribed.
func (r *Receiver) recordOutcome(now unit.Time, way arrivals) {
	if r.pacer != nil && r.pacer.slow != nil {
		r.pacer.slow.countArrival(now, way)
	}
}

// handleRequest handles a request to send, which has a number like data, and reports whether p became an answer.
func (r *Receiver) handleRequest(now unit.Time, p *packet.Packet) bool {
	r.recordOutcome(now, arrivals{})
	n := p.Seq
	r.updateTarget(now, p.Ack, true)
	base := n
	if r.arrived.Has(n) {
		r.counters.CountDuplicate(p)
		base = r.bitmapBase(n)
	} else {
		r.arrived.Add(n)
		if n < r.arrived.Expected && r.arrived.Ahead == 0 {
			r.asked = false
		}
	}
	since := r.since
	a := r.newAck(n, p.SrcPort, base, requests|p.TCP.Flags&again)
	r.since = since
	return r.replyWith(now, p, &a)
}

// updateTarget handles a sender's target for its credit. resends: it has a packet to resend.
func (r *Receiver) updateTarget(now unit.Time, target int64, resends bool) {
	if r.pacer == nil {
		return
	}
	raised := target > r.member.target
	if raised {
		r.member.target = target
	}
	if raised || resends {
		r.pacer.requestCredit(now, &r.member)
	}
}

// replyWith turns p into answer a and returns true, or stores a until the NIC has made it and returns false.
func (r *Receiver) replyWith(now unit.Time, p *packet.Packet, a *answer) bool {
	if r.nic != nil {
		kind := packet.Ack
		if a.nack {
			kind = packet.Nack
		}
		if r.nic.MustQueue(kind) {
			*r.nic.QueueAnswer(now, kind) = *a
			return false
		}
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	a.writeTo(&r.ends, p)
	return true
}

// NextSend returns when an answer is made, or when the host's next PULL may go, if it is this flow's turn.
func (r *Receiver) NextSend() unit.Time {
	t := unit.Never
	if r.nic != nil {
		t = r.nic.NextReady()
	}
	if r.pacer != nil && r.pacer.nextMember() == &r.member {
		t = min(t, r.pacer.NextPull())
	}
	return t
}

// Emit fills p with an answer that the NIC has made, or else a PULL; the flow must have the turn. The sequence number
// of a PULL is the total of units given, so that the next one makes up for a lost one.
func (r *Receiver) Emit(now unit.Time, p *packet.Packet) {
	if r.nic != nil && r.nic.NextReady() <= now {
		r.nic.TakeAnswer().writeTo(&r.ends, p)
		return
	}
	r.member.turns++
	p.Seq = r.pacer.sendCredit(now, int64(r.config.PullQuanta), int64(r.config.PullIdle))
	r.fillHeaders(p, packet.Notice, r.pullPort(r.member.turns), false, 0, 0)
}

// pullPort returns the entropy value of the n-th PULL.
func (r *Receiver) pullPort(n int64) uint16 { return r.first + uint16(n%int64(r.config.PullEntropy)) }

// Rescheduled returns the flow that has the next turn, if that has changed.
func (r *Receiver) Rescheduled() (packet.FlowID, bool) {
	if r.pacer != nil && r.pacer.TakeChange() {
		if m := r.pacer.nextMember(); m != nil {
			return m.flow, true
		}
	}
	return 0, false
}

// NextTimer returns unit.Never: the sender finds losses.
func (r *Receiver) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (r *Receiver) Advance(unit.Time) {}
