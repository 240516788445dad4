package rdma

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Receiver is the receiving half of a queue pair: it acknowledges, echoes telemetry and marks, and makes CNPs.
type Receiver struct {
	ends
	config   receiverConfig
	src, dst packet.Addr // of the packets that it sends
	counters transport.Counters
	arrived  transport.Arrivals
	coalescing

	nacked   int64 // expected packet when the last NACK was sent; −1: there was no NACK
	nackedAt unit.Time
	cnpAt    unit.Time // when the next CNP may be sent

	port    uint16 // source port of the data packet in hand: the sender's, or of one of its paths
	entropy uint16 // the port of the sender's path 0; 0: it does not choose paths

	out   [4]reply // replies that wait for the host's NIC; outs are used
	outs  int
	nic   *transport.NIC[pendingReply] // replies that the NIC makes; nil: without delays, and then replies wait in out
	tele  transport.TelemetryResponder
	cnps  int64
	nacks int64 // NACKs made since the start
}

// coalescing is an acknowledgement of several packets that waits for more of them.
type coalescing struct {
	pending     int    // packets in order that are not acknowledged yet
	pendingSeq  int64  // sequence number of the latest of them
	pendingPort uint16 // source port of that packet
	ce          bool   // they were marked (RFC 8257 §3.2: DCTCP.CE)
	ackAt       unit.Time
}

// reply is a packet that is to be sent.
type reply struct {
	kind     packet.Kind
	seq, ack int64
	marked   bool
	port     uint16 // destination: source port of the data
	lost     int64  // of a NACK: payload of packet seq that was cut off in transmission ack; 0: not such a NACK
}

// receiverConfig is the part of a configuration that a receiver uses.
type receiverConfig struct {
	class                               uint8
	selects                             bool // it accepts packets out of order
	notifies                            bool // it makes CNPs
	trimmable                           bool
	recovery                            string
	paths, ackEvery                     int
	ackDelay, nackInterval, cnpInterval unit.Time
}

// pendingReply is a reply in the NIC's pipeline.
type pendingReply struct {
	reply
	message uint32        // packet.Packet.Message
	with    packet.Packet // has its extensions
}

// initReceiver makes r the receiver of flow f, and removes all earlier state.
func (r *Receiver) initReceiver(f *transport.Flow, c *Config, tele transport.TelemetryResponder) {
	*r = Receiver{ends: newEnds(f, true),
		config: receiverConfig{class: uint8(c.Class), selects: c.Recovery != GoBackN, notifies: c.ECN == ecnNotify,
			trimmable: c.Trimmable, recovery: c.Recovery, paths: c.Paths, ackEvery: c.AckEvery, ackDelay: c.AckDelay,
			nackInterval: c.NackInterval, cnpInterval: c.CNPInterval},
		nic:  transport.NewNIC[pendingReply](c.NIC),
		tele: tele, coalescing: coalescing{ackAt: unit.Never}, nacked: -1}
	r.src, r.dst = f.Dst, f.Src
	if r.port = r.dstPort; c.Paths > 1 {
		r.entropy = entropyPort(f.SrcPort)
		r.port = r.entropy
	}
	if c.AckTOS >= 0 {
		r.tos = uint8(c.AckTOS) &^ packet.ECN
	}
	if c.AckPriority {
		r.config.class = 0
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
}

// Class returns the priority class of acknowledgements.
func (r *Receiver) Class() uint8 { return r.config.class }

// Counters returns the receiver's counters. Finished is when the last byte arrived. ReceivedBytes counts a packet on
// arrival, in order or not, if it is kept.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// CNPs returns the number of CNPs that the receiver has made since the start.
func (r *Receiver) CNPs() int64 { return r.cnps }

// NextSend returns when a reply is ready: at once if one waits for the host's NIC.
func (r *Receiver) NextSend() unit.Time {
	if r.outs > 0 {
		return 0
	}
	if r.nic != nil {
		return r.nic.NextReady()
	}
	return unit.Never
}

// Replies reports whether a NIC delays replies, or one acknowledges several packets (transport.Replier).
func (r *Receiver) Replies() bool { return r.nic != nil || r.config.ackEvery > 1 }

// Emit fills p with the oldest reply; there must be one. Without a NIC's delays, it also gives p the feedback of its
// path.
func (r *Receiver) Emit(_ unit.Time, p *packet.Packet) {
	if r.nic != nil {
		m := r.nic.TakeAnswer()
		p.CopyExtensions(&m.with)
		r.writeReply(p, m.reply, m.message)
		return
	}
	x := r.out[0]
	copy(r.out[:], r.out[1:])
	r.outs--
	if x.kind != packet.Notice && x.lost == 0 {
		r.giveFeedback(p, x.port)
	}
	r.writeReply(p, x, r.completeMessages(r.arrived.Expected))
}

// NextTimer returns when a coalesced ACK has waited long enough, or the timer of the controller's part expires.
func (r *Receiver) NextTimer() unit.Time {
	if r.arrived.Expected == r.packets {
		return r.ackAt
	}
	return min(r.ackAt, r.tele.NextTimer())
}

// Advance sends the ACK that has waited, and the feedback of the controller's part. One ACK serves both if they are of
// one path.
func (r *Receiver) Advance(now unit.Time) {
	due, port := r.tele.RunTimer(now), r.port
	if r.entropy != 0 {
		port = r.entropy + uint16(r.tele.Path())
	}
	if now >= r.ackAt || due && r.pending > 0 && port != r.pendingPort {
		r.queueReply(now, r.takePendingAck())
		due = due && port != r.pendingPort
	}
	if due {
		x := r.newAck(packet.Ack, r.pendingSeq, r.ce)
		x.port = port
		r.queueReply(now, x)
	}
}

// queueReply queues reply x for the host's NIC, or puts it into the pipeline. If the queue is full the oldest reply is
// lost, as an ACK may be.
func (r *Receiver) queueReply(now unit.Time, x reply) {
	if r.nic != nil {
		if with := r.putReply(now, x); x.kind != packet.Notice && x.lost == 0 {
			r.giveFeedback(with, x.port)
		}
		return
	}
	if r.outs == len(r.out) {
		copy(r.out[:], r.out[1:])
		r.outs--
	}
	r.out[r.outs] = x
	r.outs++
}

// giveFeedback puts the telemetry of the path with this port into the acknowledgement p.
func (r *Receiver) giveFeedback(p *packet.Packet, port uint16) {
	if r.entropy != 0 {
		r.tele.SelectPath(int(port - r.entropy))
	}
	r.tele.GiveAnswer(p)
}

// putReply puts reply x into the NIC's pipeline, and returns the packet that takes its extensions.
func (r *Receiver) putReply(now unit.Time, x reply) *packet.Packet {
	m := r.nic.QueueAnswer(now, x.kind)
	m.reply, m.message = x, r.completeMessages(r.arrived.Expected)
	m.with.ClearExtensions()
	return &m.with
}

// putReplies puts replies into the NIC's pipeline. The first has the extensions of p. It reports whether p has become
// the first reply instead, because its kind has no delay.
func (r *Receiver) putReplies(now unit.Time, p *packet.Packet, replies []reply) (made bool) {
	if len(replies) == 0 {
		return false
	}
	if made = !r.nic.MustQueue(replies[0].kind); !made {
		r.putReply(now, replies[0]).CopyExtensions(p)
	}
	for _, x := range replies[1:] {
		r.queueReply(now, x)
	}
	if made {
		p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
		r.writeReply(p, replies[0], r.completeMessages(r.arrived.Expected))
	}
	return made
}

// newAck returns an ACK or NACK of all packets received in order. No acknowledgement is pending afterwards.
func (r *Receiver) newAck(kind packet.Kind, seq int64, marked bool) reply {
	r.pending, r.ackAt = 0, unit.Never
	return reply{kind: kind, seq: seq, ack: r.arrived.Expected, marked: marked, port: r.port}
}

// takePendingAck returns the acknowledgement that has waited. It takes the path of the latest packet that waits for it.
func (r *Receiver) takePendingAck() reply {
	x := r.newAck(packet.Ack, r.pendingSeq, r.ce)
	x.port = r.pendingPort
	return x
}

// writeReply fills p with reply x. p has its extensions already. messages is the number of messages that were complete.
func (r *Receiver) writeReply(p *packet.Packet, x reply, messages uint32) {
	var flags uint8
	if x.marked {
		flags = packet.ECE
	}
	r.tele.AddSeal(p)
	if x.lost > 0 {
		p.SetNotification(&packet.Notification{Cause: packet.CauseTrimmed, Lost: int32(x.lost)})
	}
	p.Message = messages
	r.fillHeaders(p, x.kind, x.seq, x.ack, 0, p.ExtensionBytes(), flags, packet.NotECT)
	if r.entropy != 0 {
		p.DstPort, p.Hash = x.port, packet.FlowHash(r.src, r.dst, r.srcPort, x.port, packet.ProtoRDMA)
	}
	r.tele.WriteCode(p)
}

// Receive handles a data packet or probe p. It returns true if p has become the first of the answers. A CNP is first,
// which without delays must not follow the ACK of its packet. Then there may be an ACK of earlier packets with another
// mark (RFC 8257 §3.2), and then p's own. Others wait for the NIC.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	c := &r.counters
	c.ReceivedPackets++
	if !r.matchFlow(p) {
		return false
	}
	if p.Kind == packet.Probe {
		r.tele.HandleData(now, p, -1)
		x := reply{kind: packet.Probe, seq: p.Seq, ack: r.arrived.Expected, port: r.port}
		if r.nic != nil {
			return r.putReplies(now, p, []reply{x})
		}
		p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
		r.writeReply(p, x, r.completeMessages(r.arrived.Expected))
		return true
	}
	n := r.findPacket(p.Seq, r.arrived.Expected)
	trimmed := p.Meta.Flags&packet.Trimmed != 0 || p.Payload == 0 && r.config.trimmable
	if p.Kind != packet.Data || n < 0 || n >= r.packets || n-r.arrived.Expected >= maxOutstanding || !trimmed &&
		int64(p.Payload) != r.payloadOf(n) {
		return false
	}
	marked := p.TOS&packet.ECN == packet.CE
	place := n
	if p.Ack > 0 || trimmed { // a retransmission, or in a separate queue
		place = -1
	}
	atOnce := r.tele.HandleData(now, p, place)

	var answers [3]reply
	k := 0
	if r.config.notifies && marked && now >= r.cnpAt && r.outs == 0 {
		r.cnpAt = now + r.config.cnpInterval
		r.cnps++
		answers[k] = reply{kind: packet.Notice, seq: p.Seq, port: r.port}
		k++
	}
	if r.pending > 0 && marked != r.ce {
		answers[k] = r.takePendingAck()
		k++
	}
	r.ce = marked
	ownReply, ok := r.handleData(now, n, trimmed, p)
	if !ok && atOnce { // draft-miao §6.2 line 31: send_ack(W)
		ownReply, ok = r.newAck(packet.Ack, p.Seq, false), true
	}
	if ok {
		ownReply.marked = marked
		answers[k] = ownReply
		k++
	}
	if k == 1 && ok && ownReply.lost == 0 {
		r.tele.GiveAnswer(p)
	} else { // the last answer has it, or a later one
		r.tele.KeepAnswer(p)
		p.ClearExtensions()
	}
	if r.nic != nil {
		return r.putReplies(now, p, answers[:k])
	}
	for _, x := range answers[min(k, 1):k] {
		r.queueReply(now, x)
	}
	if k == 0 {
		return false
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	r.writeReply(p, answers[0], r.completeMessages(r.arrived.Expected))
	return true
}

// matchFlow reports whether p belongs to this flow, and selects its path.
func (r *Receiver) matchFlow(p *packet.Packet) bool {
	if r.entropy == 0 {
		return r.isFromPeer(p)
	}
	if p.SrcPort-r.entropy >= uint16(r.config.paths) || p.DstPort != r.srcPort || p.Proto != packet.ProtoRDMA {
		return false
	}
	r.port = p.SrcPort
	r.tele.SelectPath(int(r.port - r.entropy))
	return true
}

// handleData counts packet n, p, as arrived unless trimmed, its payload cut off, or refused. It returns the reply to
// send at once, if any, or lets an ACK wait for more packets.
func (r *Receiver) handleData(now unit.Time, n int64, trimmed bool, p *packet.Packet) (reply, bool) {
	c := &r.counters
	switch {
	case n < r.arrived.Expected:
		// The HPCC simulator does not answer. With a retransmission timer the receiver must, because the ACK may have
		// been lost.
		c.CountDuplicate(p)
		return r.newAck(packet.Ack, p.Seq, false), true
	case trimmed && r.config.trimmable:
		return r.answerTrimmed(n, p), true
	case trimmed:
		return r.refusePacket(now)
	case n > r.arrived.Expected && !r.config.selects:
		return r.refusePacket(now)
	case n > r.arrived.Expected:
		if r.arrived.Has(n) {
			c.CountDuplicate(p)
		} else {
			r.arrived.Add(n)
			r.acceptPacket(now, n, p)
		}
		if r.config.recovery == NoRecovery {
			return reply{}, false
		}
		// IRN §3.1: every packet out of order gives a NACK with the cumulative
		// acknowledgement and its own sequence number.
		r.nacks++
		return r.newAck(packet.Nack, p.Seq, false), true
	}
	r.acceptPacket(now, n, p)
	filled := r.arrived.Ahead > 0
	r.arrived.Add(n)
	r.pending += int(r.arrived.Expected - n)
	if r.arrived.Expected == r.packets {
		c.Finished = now
	}
	r.pendingSeq, r.pendingPort = p.Seq, r.port
	if filled || r.pending >= r.tele.AckLimit(r.config.ackEvery) || r.arrived.Expected == r.packets ||
		p.TCP.Flags&packet.NoAckRequest == 0 {
		return r.newAck(packet.Ack, p.Seq, false), true
	}
	if r.ackAt == unit.Never {
		r.ackAt = now + r.config.ackDelay
	}
	return reply{}, false
}

// acceptPacket counts packet n, which is kept.
func (r *Receiver) acceptPacket(now unit.Time, n int64, p *packet.Packet) {
	r.counters.ReceivedBytes += unit.Bytes(r.payloadOf(n))
	r.counters.AddDelay(now - p.Sent)
}

// refusePacket returns the answer to a packet that is not kept: a NACK of the expected one, once an interval (HPCC
// simulator). Its sequence number reports that no packet beyond was received.
func (r *Receiver) refusePacket(now unit.Time) (reply, bool) {
	if r.config.recovery == NoRecovery || r.nacked == r.arrived.Expected && now-r.nackedAt < r.config.nackInterval {
		return reply{}, false
	}
	r.nacked, r.nackedAt = r.arrived.Expected, now
	r.nacks++
	return r.newAck(packet.Nack, r.arrived.Expected, false), true
}

// answerTrimmed returns the answer to packet n, which a switch has trimmed: a NACK of this transmission, like that of
// NCF's switches, or an ACK if the packet has arrived already.
func (r *Receiver) answerTrimmed(n int64, p *packet.Packet) reply {
	if r.arrived.Has(n) {
		r.counters.CountDuplicate(p)
		return r.newAck(packet.Ack, p.Seq, false)
	}
	r.nacks++
	return reply{kind: packet.Nack, seq: p.Seq, ack: p.Ack, port: r.port, lost: r.payloadOf(n)}
}
