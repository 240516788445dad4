package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// NackCounts counts what a switch did about packets that found no room, and about elephants.
type NackCounts struct {
	Nacks   [packet.Causes]uint64 // that were sent, by cause
	Named   uint64                // lost packets that NACKs named
	Dropped uint64                // packets with payload that were dropped for lack of memory without a NACK
	Silent  uint64                // of these, those whose flow had used up its NACKs
	// Of Dropped with form: ece, those whose sender has not negotiated ECN or counts marks, of whose flow no
	// acknowledgement has passed, and who hears of congestion in this window anyway
	NoECN, NoAck, Heard uint64
	Reclaimed           uint64 // packets that were evicted from queues
	Ignored             uint64 // packets that were trimmed of elephants that ignore NACKs
	Lost                uint64 // NACKs, of this switch or others, that were dropped here
}

// lacksMemory reports whether a drop for this reason is one for lack of memory (§4.3: "the lack of
// available memory for the queues"). Full headroom is a failure of PFC, and an AQM's drops are a signal of
// their own.
func lacksMemory(why dataplane.Reason) bool {
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit,
		dataplane.BufferFull, dataplane.EgressThreshold, dataplane.Evicted, dataplane.Notified:
		return true
	}
	return false
}

// full is the memory that a packet which was dropped for this reason did not fit into.
func (x *port) full(why dataplane.Reason) *Memory {
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit:
		return x.own()
	}
	return x.memory
}

// quoted is how much of a UDP datagram's payload a NACK keeps: the datagram's number is there (as ICMP
// quotes 64 bits of a datagram, RFC 792).
const quoted = 8

// carries reports whether p has payload of a flow; otherwise it is control or an acknowledgement. What is not IP, which
// only a switch on its own has in hand, is data.
func carries(p *packet.Packet) bool {
	return (p.Payload > 0 || p.Version == 0 && p.Data != nil) && p.Kind == packet.Data &&
		p.Meta.Flags&packet.Trimmed == 0 && !p.Notifies()
}

// answers reports whether the loss of p causes a NACK. A NACK never does, nor does a packet without
// payload; UDP datagrams do only where their senders are known to understand NACKs.
func (g *Program) answers(env *dataplane.Env, p *packet.Packet) bool {
	now := env.Now()
	if g.config.Nack == NackNone || !carries(p) || p.Src == 0 || p.Proto == packet.ProtoUDP &&
		(!g.config.UDP || p.Payload < quoted) || g.mute(p) {
		return false
	}
	if g.config.Nack == NackAll {
		return true
	}
	x, k := g.at(p.Meta.Out), g.key(p)
	return g.isElephant(env, x, k, p, x.sketch.Query(now, k))
}

// unheard counts a packet of whose loss its sender is not told.
func (g *Program) unheard(why silence) {
	g.nacks.Dropped++
	switch why {
	case noBudget:
		g.nacks.Silent++
	case noECN:
		g.nacks.NoECN++
	case noAck:
		g.nacks.NoAck++
	case hears:
		g.nacks.Heard++
	}
}

// mute reports whether no message about p can be one that its sender understands, or does not mind: of a segment of TCP
// no option can tell, or, in a switch on its own, it is none.
func (g *Program) mute(p *packet.Packet) bool {
	if p.Proto != packet.ProtoTCP {
		return g.frames != nil
	}
	return g.config.Form == AsOption && !p.Optional()
}

// silent says why the sender of a flow cannot be sent a copy of an acknowledgement now; "": it can, or gets a NACK.
func (g *Program) silent(now unit.Time, proto uint8, k uint64) silence {
	if g.echoes == nil || proto != packet.ProtoTCP {
		return ""
	}
	_, why := g.echoable(now, k)
	return why
}

// OnDrop makes a NACK of a packet that was dropped for lack of memory (§4.3), which the port does not send.
func (g *Program) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if p.Notifies() || g.echoes != nil && p.Kind == packet.Ack && p.Meta.Flags&packet.Internal != 0 {
		g.nacks.Lost++
	}
	if !lacksMemory(why) || !carries(p) {
		return
	}
	g.notifyLoss(env, p, why)
	if p.Meta.In == packet.NoPort || g.exempt(p) {
		return // it was not counted
	}
	counted := env.Now()
	if why == dataplane.Evicted {
		counted = p.Enqueued
	}
	g.at(p.Meta.Out).sketch.Lose(env.Now(), counted, g.key(p), p.Size)
}

// notifyLoss makes a NACK of a packet that was dropped for lack of memory, if its sender is to have one.
func (g *Program) notifyLoss(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	now, x := env.Now(), g.at(p.Meta.Out)
	if x.memory != nil && x.congested() == nil { // else it is known; it was not NCF that found no room
		x.full(why).Refused()
	}
	if !g.answers(env, p) {
		g.unheard(others)
		return
	}
	k := g.key(p)
	if why := g.silent(now, p.Proto, k); why != "" {
		g.unheard(why)
		return
	}
	if !g.mayNotify(env, p) {
		g.unheard(noBudget)
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
		i, _ := g.echoable(now, k)
		g.echo(env, i)
		return
	}
	g.nacks.Named++
	if g.pending != nil {
		g.collect(env, p, cause)
		return
	}
	demand, class := g.demand(env, x, p)
	n := g.notice(env, x, cause, p.Payload, demand, class)
	var h *header
	if g.frames != nil {
		h = g.about.take(g.frames, p)
	}
	g.send(env, g.copied(env, p), &n, h)
}

// demand returns the rate at which a flow has sent through the switch in the last n windows, in bit/s of
// frames, and the class that decides what it is offered. All arrivals count, whether they found room or not. A mouse
// that was an elephant within n windows is offered an elephant's part, of which the number of elephants includes it:
// with a mouse's part of a flood it would not become one again.
func (g *Program) demand(env *dataplane.Env, x *port, p *packet.Packet) (unit.Rate, Class) {
	now, k, class := env.Now(), g.key(p), Mice
	counts := x.sketch.Query(now, k)
	i := slices.Index(x.top.keys, k)
	if i >= 0 && x.top.Fresh(i, x.sketch.Window()) || g.isElephant(env, x, k, p, counts) {
		class = Elephants
	}
	flow, _ := counts.Sum()
	if g.config.Sketch.Packets {
		flow *= uint64(p.Size)
	}
	return x.rate(now, flow), class
}

// covered is the time that the counts of a port cover.
func (x *port) covered(now unit.Time) unit.Time {
	return span(now, x.sketch.Windows(), x.sketch.Duration())
}

// rate converts bytes in the last n windows into bit/s.
func (x *port) rate(now unit.Time, bytes uint64) unit.Rate {
	return unit.Rate(float64(bytes) * 8e12 / float64(x.covered(now)))
}

// notice describes to a flow what happened at port x.
func (g *Program) notice(env *dataplane.Env, x *port, cause packet.Cause, lost int32, demand unit.Rate,
	class Class) packet.Notification {
	g.nacks.Nacks[cause]++
	n := packet.Notification{Cause: cause, Lost: min(lost, 0xffff), Supply: g.supply(env, x, class), Demand: demand}
	if g.config.Signed {
		n.Signed, n.Switch = true, uint32(env.ID())
	}
	return n
}

// send turns c, which has the headers of the packet concerned, into the NACK and passes it to the ingress.
// It is routed like any packet, so its path need not be the reverse of the flow's. In a switch on its own h is the
// packet's frame.
func (g *Program) send(env *dataplane.Env, c *packet.Packet, n *packet.Notification, h *header) {
	c.TurnRound()
	c.ClearExtensions()
	if c.Proto == packet.ProtoTCP && g.config.Form == AsOption {
		c.SetNotice(n)
	} else {
		c.SetNotification(n)
	}
	if h != nil {
		c.Kind, c.Version, c.Payload = packet.Nack, 0, 0 // the frame is whole
		g.frames.Answer(c, h.bytes[:h.n])
		g.leave(env, c, h.in)
		return
	}
	c.Payload = 0
	if c.Kind = packet.Nack; c.Proto == packet.ProtoUDP {
		c.Kind, c.Payload = packet.Data, quoted // what the parser makes of it
	}
	c.TOS &^= packet.ECN
	c.Meta.Flags &^= packet.Trimmed
	c.Size = g.framing.Frame(c.Headers()+c.ExtensionBytes(), c.Payload, false)
	g.leave(env, c, packet.NoPort)
}

// notifyHeaviest sends a NACK to one of the heaviest elephants of a congested port, whether its packets
// wait or not (§4.4), unless all were notified within the interval. It checks at most heaviestLooked of
// them, so that the work per arriving packet is bounded.
func (g *Program) notifyHeaviest(env *dataplane.Env, x *port) {
	x.top.Advance(x.sketch.Window())
	for range min(heaviestLooked, x.top.Len()) {
		if x.next++; x.next >= x.top.Len() {
			x.next = 0
		}
		if o := x.top.At(x.next); x.top.Fresh(x.next, x.sketch.Window()) && !g.withinOffer(env, x, o) &&
			g.notifyElephant(env, x, o) {
			return
		}
	}
}

const heaviestLooked = 4

// noticeInterval is the shortest time between two notices to an elephant at a port.
func (g *Program) noticeInterval(x *port) unit.Time {
	if g.config.Every > 0 {
		return g.config.Every
	}
	return x.sketch.Duration()
}

// notifyElephant sends a NACK about the last packet of an elephant, although nothing of it is lost, unless
// it was notified within the interval.
func (g *Program) notifyElephant(env *dataplane.Env, x *port, o *Origin) bool {
	now := env.Now()
	if g.config.Nack == NackNone || o.Notified && now-o.NotifiedAt < g.noticeInterval(x) || o.Src == 0 ||
		o.Proto == packet.ProtoUDP && !g.config.UDP || !g.allowance.has(o.Key, g.allowed(env, x)) ||
		g.silent(now, o.Proto, o.Key) != "" {
		return false
	}
	c := g.fresh(env)
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = o.Flow, o.Src, o.Dst, o.SrcPort, o.DstPort
	c.Proto, c.Version, c.TOS, c.Seq, c.Ack = o.Proto, o.Version, o.TOS, o.Seq, o.Ack
	c.TCP.TSVal, c.TCP.TSEcho, c.TCP.Flags, c.TCP.Has = o.TSVal, o.TSEcho, o.Flags, o.Has
	if g.mute(c) {
		env.Free(c)
		return false
	}
	demand := unit.Rate(0)
	if !g.config.Sketch.Packets {
		demand = x.rate(now, o.Count)
	}
	o.Notified, o.NotifiedAt = true, now
	g.allowance.spend(o.Key)
	n := g.notice(env, x, packet.CauseElephant, 0, demand, Elephants)
	x.top.judgeResponse(o, x.sketch.Window(), float64(n.Supply)/g.config.Target, x.sketch.Duration())
	switch {
	case g.echoes != nil && c.Proto == packet.ProtoTCP:
		env.Free(c)
		i, _ := g.echoable(now, o.Key)
		g.echo(env, i)
	case g.frames != nil:
		g.send(env, c, &n, x.top.headerOf(o))
	default:
		g.send(env, c, &n, nil)
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

// pendingSlots is the most flows that can have a waiting NACK.
const pendingSlots = 256

// collect adds a lost packet to the waiting NACK of its flow, or begins one. The NACK leaves after
// Coalesce, when it is full, or when another flow needs its slot.
func (g *Program) collect(env *dataplane.Env, p *packet.Packet, cause packet.Cause) {
	now, k := env.Now(), g.key(p)
	slot := int((k * 0x9e3779b97f4a7c15) >> 32 % pendingSlots)
	w := &g.pending[slot]
	if w.taken && w.key == k && w.notice.Cause == cause {
		distance := p.Seq - w.seq
		switch p.Proto { // what sequence numbers of the wire have
		case packet.ProtoTCP:
			distance = int64(int32(distance))
		case packet.ProtoRDMA: // 24 bits, which count packets
			distance = distance << 40 >> 40
		}
		// All have the time stamp of the first, by which TCP distinguishes transmissions.
		if w.notice.Spans < g.spans(p) && distance == int64(int32(distance)) && w.tcp.TSVal == p.TCP.TSVal {
			w.notice.More[w.notice.Spans] = packet.Span{Offset: int32(distance), Lost: min(p.Payload, 0xffff)}
			w.notice.Spans++
			return
		}
	}
	g.flush(env, slot)
	if g.frames != nil {
		g.waiting[slot].take(g.frames, p)
	}
	x := g.at(p.Meta.Out)
	demand, class := g.demand(env, x, p)
	*w = gathered{key: k, due: now + g.config.Coalesce, tcp: p.TCP, seq: p.Seq, ack: p.Ack, sent: p.Sent, flow: p.Flow,
		src: p.Src, dst: p.Dst,
		srcPort: p.SrcPort, dstPort: p.DstPort, proto: p.Proto, version: p.Version, tos: p.TOS, out: x.out, taken: true,
		notice: g.notice(env, x, cause, p.Payload, demand, class)}
	env.TickAt(g, w.due)
}

// spans is how many packets a NACK to the sender of p can name beside the first.
func (g *Program) spans(p *packet.Packet) uint8 {
	if g.config.Form == AsOption && p.Proto == packet.ProtoTCP {
		return packet.OptionSpans(g.config.Signed)
	}
	return packet.MostSpans
}

// flush sends the NACK that waits in a slot, if one does.
func (g *Program) flush(env *dataplane.Env, slot int) {
	w := &g.pending[slot]
	if !w.taken {
		return
	}
	w.taken = false
	c := g.fresh(env)
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = w.flow, w.src, w.dst, w.srcPort, w.dstPort
	c.Proto, c.Version, c.TOS, c.Seq, c.Ack, c.Sent, c.TCP = w.proto, w.version, w.tos, w.seq, w.ack, w.sent, w.tcp
	var h *header
	if g.frames != nil {
		h = &g.waiting[slot]
	}
	g.send(env, c, &w.notice, h)
}

// Tick sends the NACKs that have waited long enough.
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

// PendingFlows calls see with the flows that may get a NACK though nothing of them is here: those of NACKs that wait,
// and the heaviest of each port.
func (g *Program) PendingFlows(see func(flow packet.FlowID)) {
	for i := range g.pending {
		if w := &g.pending[i]; w.taken {
			see(w.flow)
		}
	}
	for i := range g.ports {
		if top := g.ports[i].top; top != nil {
			for k := range top.Len() {
				see(top.At(k).Flow)
			}
		}
	}
}

// NackCounts returns the counts since the start.
func (g *Program) NackCounts() NackCounts { return g.nacks }
