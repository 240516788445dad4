package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// NackCounts counts a switch's NACKs, about packets without room and to elephants, and the losses without one.
type NackCounts struct {
	Nacks    [packet.Causes]uint64 // NACKs sent, by cause
	Named    uint64                // lost packets named in NACKs
	Dropped  uint64                // packets with payload dropped for lack of memory without a NACK
	NoBudget uint64                // part of Dropped: the flow had no NACKs left
	// Parts of Dropped with form: ece: the sender has not negotiated ECN or counts marks, no acknowledgement of the flow
	// has passed, or the sender is notified in this window anyway.
	NoECN, NoAck, NotifiedOtherwise uint64
	Reclaimed                       uint64 // packets evicted from queues
	TrimmedUnresponsive             uint64 // packets trimmed of unresponsive elephants
	Lost                            uint64 // NACKs, of this switch or others, dropped here
}

// lacksMemory reports whether the reason of a drop is a lack of memory (BS'19 §4.3: "the lack of available memory for
// the queues"). Full headroom is a failure of PFC, and drops by an AQM are a signal of its own.
func lacksMemory(why dataplane.Reason) bool {
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit,
		dataplane.BufferFull, dataplane.EgressThreshold, dataplane.Evicted, dataplane.Notified:
		return true
	}
	return false
}

// fullMemory returns the memory that a packet dropped for this reason did not fit into: for a limit of the port or
// queue, the port's own; otherwise the shared one.
func (x *port) fullMemory(why dataplane.Reason) *Memory {
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit:
		return x.ownMemory()
	}
	return x.memory
}

// quotedBytes is the number of bytes of a UDP datagram's payload that a NACK keeps: they hold the datagram's number (as
// ICMP quotes 64 bits of a datagram, RFC 792).
const quotedBytes = 8

// isData reports whether p has payload of a flow; other packets are control or acknowledgements. Frames without IP,
// which only a standalone switch handles, are data.
func isData(p *packet.Packet) bool {
	return (p.Payload > 0 || p.Version == 0 && p.Data != nil) && p.Kind == packet.Data &&
		p.Meta.Flags&packet.Trimmed == 0 && !p.IsNotification()
}

// causesNack reports whether the loss of p causes a NACK, apart from the budget of its flow. A NACK never does, nor
// does a packet without payload. UDP datagrams do only if their senders understand NACKs. With NackElephants it uses
// the port's sketch.
func (g *Program) causesNack(env *dataplane.Env, p *packet.Packet) bool {
	now := env.Now()
	if g.config.Nack == NackNone || !isData(p) || p.Src == 0 || p.Proto == packet.ProtoUDP &&
		(!g.config.UDP || p.Payload < quotedBytes) || g.isMute(p) {
		return false
	}
	if g.config.Nack == NackAll {
		return true
	}
	x, k := g.portAt(p.Meta.Out), g.key(p)
	return g.isElephant(env, x, k, p, x.sketch.Estimate(now, k))
}

// countSilent counts a lost packet without a notice to its sender, by the reason.
func (g *Program) countSilent(why silenceReason) {
	g.nacks.Dropped++
	switch why {
	case noBudget:
		g.nacks.NoBudget++
	case noECN:
		g.nacks.NoECN++
	case noAck:
		g.nacks.NoAck++
	case notifiedAlready:
		g.nacks.NotifiedOtherwise++
	}
}

// isMute reports whether the sender of p understands no message about it: an option cannot be added to the TCP segment
// or, in a standalone switch, p is not TCP.
func (g *Program) isMute(p *packet.Packet) bool {
	if p.Proto != packet.ProtoTCP {
		return g.frames != nil
	}
	return g.config.Form == AsOption && !p.CanCarryOption()
}

// whySilent returns why the sender of a flow cannot be sent a copy of an acknowledgement at now; "" if it can, or if it
// gets NACKs instead.
func (g *Program) whySilent(now unit.Time, proto uint8, k uint64) silenceReason {
	if g.echoes == nil || proto != packet.ProtoTCP {
		return ""
	}
	_, why := g.findEcho(now, k)
	return why
}

// OnDrop notifies the sender of a data packet dropped for lack of memory (BS'19 §4.3), or counts why not (notifyLoss),
// and counts the loss in the port's sketch. It counts NACKs and copies that are dropped. Other drops have no effect.
func (g *Program) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if p.IsNotification() || g.echoes != nil && p.Kind == packet.Ack && p.Meta.Flags&packet.Internal != 0 {
		g.nacks.Lost++
	}
	if !lacksMemory(why) || !isData(p) {
		return
	}
	g.notifyLoss(env, p, why)
	if p.Meta.In == packet.NoPort || g.isExempt(p) {
		return // it was not counted
	}
	counted := env.Now()
	if why == dataplane.Evicted {
		counted = p.Enqueued
	}
	g.portAt(p.Meta.Out).sketch.RecordDrop(env.Now(), counted, g.key(p), p.Size)
}

// notifyLoss sends or collects a NACK about a data packet dropped for lack of memory. If the sender gets no NACK, it
// counts the reason. It starts congestion, if the port is without. A NACK takes one from the flow's allowance.
func (g *Program) notifyLoss(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	now, x := env.Now(), g.portAt(p.Meta.Out)
	if x.memory != nil && x.congested() == nil { // otherwise known; another limit than NCF's refused the packet
		x.fullMemory(why).RecordRefusal()
	}
	if !g.causesNack(env, p) {
		g.countSilent(otherReason)
		return
	}
	k := g.key(p)
	if why := g.whySilent(now, p.Proto, k); why != "" {
		g.countSilent(why)
		return
	}
	if !g.mayNotify(env, p) {
		g.countSilent(noBudget)
		return
	}
	g.allowance.spend(k)
	if classOf(p, env.Port(p.Meta.Out).Queues()) == Mice {
		x.repeats.add(k, p)
	}
	cause := packet.CauseTrimmed
	if why == dataplane.Evicted {
		cause = packet.CauseReclaimed
	}
	if g.echoes != nil && p.Proto == packet.ProtoTCP {
		g.nacks.Nacks[cause]++
		i, _ := g.findEcho(now, k)
		g.sendEcho(env, i)
		return
	}
	g.nacks.Named++
	if g.pending != nil {
		g.collect(env, p, cause)
		return
	}
	demand, class := g.estimateDemand(env, x, p)
	n := g.makeNotice(env, x, cause, p.Payload, demand, class)
	var h *header
	if g.frames != nil {
		h = g.currentHeader.store(g.frames, p)
	}
	g.sendNack(env, g.copyHeaders(env, p), &n, h)
}

// estimateDemand returns the rate at which a flow has sent through the switch in the last n windows, in bit/s of
// frames, and the class that decides its offer. All arrivals count, even without room. A mouse that was an elephant
// within n windows is offered an elephant's part, since the number of elephants includes it: with a mouse's part of a
// flood it would not become one again.
func (g *Program) estimateDemand(env *dataplane.Env, x *port, p *packet.Packet) (unit.Rate, Class) {
	now, k, class := env.Now(), g.key(p), Mice
	counts := x.sketch.Estimate(now, k)
	i := slices.Index(x.top.keys, k)
	if i >= 0 && x.top.IsFresh(i, x.sketch.Window()) || g.isElephant(env, x, k, p, counts) {
		class = Elephants
	}
	flow, _ := counts.Sum()
	if g.config.Sketch.Packets {
		flow *= uint64(p.Size)
	}
	return x.rateOf(now, flow), class
}

// coveredTime returns the time that the counts of a port cover.
func (x *port) coveredTime(now unit.Time) unit.Time {
	return coveredTime(now, x.sketch.Windows(), x.sketch.Duration())
}

// rateOf converts bytes in the last n windows into bit/s.
func (x *port) rateOf(now unit.Time, bytes uint64) unit.Rate {
	return unit.Rate(float64(bytes) * 8e12 / float64(x.coveredTime(now)))
}

// makeNotice counts and returns a notification to a flow of a class about an event at port x. lost is the lost payload
// in bytes, demand the flow's rate in bit/s, 0 if unknown. The notification has the port's offer to that class.
func (g *Program) makeNotice(env *dataplane.Env, x *port, cause packet.Cause, lost int32, demand unit.Rate,
	class Class) packet.Notification {
	g.nacks.Nacks[cause]++
	n := packet.Notification{Cause: cause, Lost: min(lost, 0xffff), Supply: g.supply(env, x, class), Demand: demand}
	if g.config.Signed {
		n.Signed, n.Switch = true, uint32(env.ID())
	}
	return n
}

// sendNack turns c, with the headers of the packet concerned, into the NACK with notice n, and passes it to the
// ingress. The program must own c, and gives it away. It is routed like any packet, so its path need not be the reverse
// of the flow's. In a standalone switch h is the header of the packet's frame, and the NACK departs by that header's
// port; in a network h is nil.
func (g *Program) sendNack(env *dataplane.Env, c *packet.Packet, n *packet.Notification, h *header) {
	c.SwapEnds()
	c.ClearExtensions()
	if c.Proto == packet.ProtoTCP && g.config.Form == AsOption {
		c.SetNotice(n)
	} else {
		c.SetNotification(n)
	}
	if h != nil {
		c.Kind, c.Version, c.Payload = packet.Nack, 0, 0 // the frame is complete
		g.frames.AppendAnswer(c, h.bytes[:h.n])
		g.sendMessage(env, c, h.in)
		return
	}
	c.Payload = 0
	if c.Kind = packet.Nack; c.Proto == packet.ProtoUDP {
		c.Kind, c.Payload = packet.Data, quotedBytes // as the parser reads it
	}
	c.TOS &^= packet.ECN
	c.Meta.Flags &^= packet.Trimmed
	c.Size = g.framing.FrameBytes(c.Headers()+c.ExtensionBytes(), c.Payload, false)
	g.sendMessage(env, c, packet.NoPort)
}

// notifyHeaviest sends a NACK to one of the heaviest elephants of a congested port, whether or not it has queued
// packets (BS'19 §4.4), unless all were notified within the interval. It checks at most maxChecked of them, which
// bounds the work per arriving packet.
func (g *Program) notifyHeaviest(env *dataplane.Env, x *port) {
	x.top.Advance(x.sketch.Window())
	for range min(maxChecked, x.top.Len()) {
		if x.next++; x.next >= x.top.Len() {
			x.next = 0
		}
		if o := x.top.At(x.next); x.top.IsFresh(x.next, x.sketch.Window()) && !g.withinOffer(env, x, o) &&
			g.notifyElephant(env, x, o) {
			return
		}
	}
}

// maxChecked is the number of elephants that an arriving packet checks.
const maxChecked = 4

// noticeInterval is the shortest time between two notices to an elephant at a port.
func (g *Program) noticeInterval(x *port) unit.Time {
	if g.config.NoticeInterval > 0 {
		return g.config.NoticeInterval
	}
	return x.sketch.Duration()
}

// notifyElephant sends a NACK, or with form: ece a copy of an acknowledgement, to the sender of elephant o, without a
// loss. It reports false if it cannot, or if the elephant was notified within the interval. Otherwise it also takes a
// NACK from the flow's allowance, and judges the flow's response to earlier ones.
func (g *Program) notifyElephant(env *dataplane.Env, x *port, o *Origin) bool {
	now := env.Now()
	if g.config.Nack == NackNone || o.Notified && now-o.NotifiedAt < g.noticeInterval(x) || o.Src == 0 ||
		o.Proto == packet.ProtoUDP && !g.config.UDP || !g.allowance.allows(o.Key, g.maxOutstanding(env, x)) ||
		g.whySilent(now, o.Proto, o.Key) != "" {
		return false
	}
	c := g.newMessage(env)
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = o.Flow, o.Src, o.Dst, o.SrcPort, o.DstPort
	c.Proto, c.Version, c.TOS, c.Seq, c.Ack = o.Proto, o.Version, o.TOS, o.Seq, o.Ack
	c.TCP.TSVal, c.TCP.TSEcho, c.TCP.Flags, c.TCP.Present = o.TSVal, o.TSEcho, o.Flags, o.Has
	if g.isMute(c) {
		env.FreePacket(c)
		return false
	}
	demand := unit.Rate(0)
	if !g.config.Sketch.Packets {
		demand = x.rateOf(now, o.Count)
	}
	o.Notified, o.NotifiedAt = true, now
	g.allowance.spend(o.Key)
	n := g.makeNotice(env, x, packet.CauseElephant, 0, demand, Elephants)
	x.top.judgeResponse(o, x.sketch.Window(), float64(n.Supply)/g.config.TargetShare, x.sketch.Duration())
	switch {
	case g.echoes != nil && c.Proto == packet.ProtoTCP:
		env.FreePacket(c)
		i, _ := g.findEcho(now, o.Key)
		g.sendEcho(env, i)
	case g.frames != nil:
		g.sendNack(env, c, &n, x.top.headerOf(o))
	default:
		g.sendNack(env, c, &n, nil)
	}
	return true
}

// gathered is a NACK that waits for further losses of its flow.
type gathered struct {
	key              uint64
	due              unit.Time
	notice           packet.Notification
	tcp              packet.Segment
	seq, ack         int64
	sent             unit.Time
	flow             packet.FlowID
	src, dst         packet.Addr
	out              packet.PortID
	srcPort, dstPort uint16
	proto, version   uint8
	tos              uint8
	taken            bool
}

// pendingSlots is the maximum number of flows with a waiting NACK.
const pendingSlots = 256

// collect adds a lost packet to the waiting NACK of its flow, or starts one. The NACK is sent after Coalesce, by a tick
// that collect requests, or when another flow needs its slot. A loss that does not fit sends the waiting one and starts
// a new one.
func (g *Program) collect(env *dataplane.Env, p *packet.Packet, cause packet.Cause) {
	now, k := env.Now(), g.key(p)
	slot := int((k * 0x9e3779b97f4a7c15) >> 32 % pendingSlots)
	w := &g.pending[slot]
	if w.taken && w.key == k && w.notice.Cause == cause {
		distance := p.Seq - w.seq
		switch p.Proto { // the range of sequence numbers on the wire
		case packet.ProtoTCP:
			distance = int64(int32(distance))
		case packet.ProtoRDMA: // 24 bits, which count packets
			distance = distance << 40 >> 40
		}
		// All have the time stamp of the first, by which TCP distinguishes transmissions.
		if w.notice.Spans < g.maxSpans(p) && distance == int64(int32(distance)) && w.tcp.TSVal == p.TCP.TSVal {
			w.notice.More[w.notice.Spans] = packet.Span{Offset: int32(distance), Lost: min(p.Payload, 0xffff)}
			w.notice.Spans++
			return
		}
	}
	g.flush(env, slot)
	if g.frames != nil {
		g.pendingHeaders[slot].store(g.frames, p)
	}
	x := g.portAt(p.Meta.Out)
	demand, class := g.estimateDemand(env, x, p)
	*w = gathered{key: k, due: now + g.config.Coalesce, tcp: p.TCP, seq: p.Seq, ack: p.Ack, sent: p.Sent, flow: p.Flow,
		src: p.Src, dst: p.Dst,
		srcPort: p.SrcPort, dstPort: p.DstPort, proto: p.Proto, version: p.Version, tos: p.TOS, out: x.out, taken: true,
		notice: g.makeNotice(env, x, cause, p.Payload, demand, class)}
	env.TickAt(g, w.due)
}

// maxSpans returns the number of further packets that a NACK to the sender of p can name.
func (g *Program) maxSpans(p *packet.Packet) uint8 {
	if g.config.Form == AsOption && p.Proto == packet.ProtoTCP {
		return packet.OptionSpans(g.config.Signed)
	}
	return packet.MaxSpans
}

// flush makes and sends the NACK that waits in a slot of g.pending, and frees the slot. It has no effect on an empty
// one.
func (g *Program) flush(env *dataplane.Env, slot int) {
	w := &g.pending[slot]
	if !w.taken {
		return
	}
	w.taken = false
	c := g.newMessage(env)
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = w.flow, w.src, w.dst, w.srcPort, w.dstPort
	c.Proto, c.Version, c.TOS, c.Seq, c.Ack, c.Sent, c.TCP = w.proto, w.version, w.tos, w.seq, w.ack, w.sent, w.tcp
	var h *header
	if g.frames != nil {
		h = &g.pendingHeaders[slot]
	}
	g.sendNack(env, c, &w.notice, h)
}

// Tick sends the NACKs that are due, and returns the time of the next one.
func (g *Program) Tick(env *dataplane.Env) (next unit.Time) {
	next = unit.Never
	for i := range g.pending {
		if w := &g.pending[i]; w.taken && w.due <= env.Now() {
			g.flush(env, i)
		} else if w.taken {
			next = min(next, w.due)
		}
	}
	return next
}

// PendingFlows calls visit for each flow that may get a NACK without a queued packet: flows with waiting NACKs, and the
// heaviest of each port.
func (g *Program) PendingFlows(visit func(flow packet.FlowID)) {
	for i := range g.pending {
		if w := &g.pending[i]; w.taken {
			visit(w.flow)
		}
	}
	for i := range g.ports {
		if top := g.ports[i].top; top != nil {
			for k := range top.Len() {
				visit(top.At(k).Flow)
			}
		}
	}
}

// NackCounts returns the counts since the start.
func (g *Program) NackCounts() NackCounts { return g.nacks }
