package ncf

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Echoes are for senders that do not know NACKs. They are Weir's addition: BS'19 §4.3 has NACKs that senders
// understand. With form: ece the switch sends a sender the last acknowledgement of its flow again, with ECE (RFC 3168
// §6.1.2). Each TCP with ECN responds to it as to a mark, at once, without waiting for the packet in question to reach
// the receiver and for the acknowledgement to return. The copy carries no supply and does not name the lost packet,
// which SACK reports.
//
// A copy contains only what the receiver has sent: the same acknowledgement, window and time stamps. A later
// acknowledgement would acknowledge data that has not arrived, which breaks the connection, and an invented time stamp
// would cause true ones to be refused (docs/sources.md#injected-acks). SACK blocks are left out, since a block for a
// duplicate (RFC 2883) would be reported again. Acknowledgements pass here anyway, so forging them brings no gain.
//
// One copy in a window of data is enough, and more are harmful: senders reduce once a window (RFC 3168 §6.1.2), and
// without SACK a copy is a duplicate acknowledgement (RFC 5681 §2); three of them signal a loss. A window ends when the
// last byte sent before the copy is acknowledged, or after maxEchoWindow at the latest. The receiver repeats ECE until
// it gets CWR (RFC 3168 §6.1.3), as an acknowledgement may be lost. The switch does not, as it notifies again while
// there is congestion. A window needs no copy if the sender is notified otherwise: by an ACK with ECE from the receiver
// or another switch, or if it has reduced already, shown by CWR in a segment.
//
// Only flows with ECT(0) segments get copies. ECT(1) is for L4S, and with the flag AE, from the receiver or the sender,
// ECE is a digit of Accurate ECN's counter (RFC 9768 §3.2.2), which must not change.
const (
	echoSets      = 256
	echoWays      = 4
	maxEchoWindow = unit.Second // the minimum timeout of RFC 6298 §2.4
)

// echoes holds the last acknowledgements of flows, in a table of fixed size. Data adds a flow, in place of the one that
// has been silent longest; an elephant is replaced only by another elephant.
type echoes struct {
	flows   []echo   // by set, way
	headers []header // of the acknowledgements' frames; nil in a network
}

// echo is the state of a flow, with its last acknowledgement.
type echo struct {
	key              uint64    // key of the data's direction
	lastData         unit.Time // time of the last data
	notifiedAt       unit.Time
	end              uint32 // sequence number after the last byte seen
	windowEnd        uint32 // end when the sender was notified
	used             bool
	elephant         bool
	accurate         bool // Accurate ECN: it counts marks
	notified, hasAck bool // notified in the present window; has an acknowledgement
	in               packet.PortID

	seq, ack         int64
	tsVal, tsEcho    uint32
	window           uint16
	has              uint8
	src, dst         packet.Addr
	flow             packet.FlowID
	hash             uint32
	srcPort, dstPort uint16
	version          uint8
	hops, tos        uint8
}

// newEchoes returns an empty table, with headers of frames for a standalone switch.
func newEchoes(standalone bool) *echoes {
	e := &echoes{flows: make([]echo, echoSets*echoWays)}
	if standalone {
		e.headers = make([]header, len(e.flows))
	}
	return e
}

// find returns the index of a flow, −1 if it is not in the table.
func (t *echoes) find(key uint64) int {
	first := echoSet(key)
	for i := first; i < first+echoWays; i++ {
		if e := &t.flows[i]; e.used && e.key == key {
			return i
		}
	}
	return -1
}

// echoSet returns the index of the first entry in a flow's set.
func echoSet(key uint64) int { return int((key*0x9e3779b97f4a7c15)>>32%echoSets) * echoWays }

// addFlow adds a flow that is not in the table, in place of the one in its set that has been silent longest, and
// returns its index; −1 if the set is full of elephants. kept is the time for which a silent elephant keeps its entry.
// An elephant may replace any flow.
func (t *echoes) addFlow(now unit.Time, key uint64, elephant bool, kept unit.Time) int {
	first, oldest := echoSet(key), -1
	for i := first; i < first+echoWays; i++ {
		e := &t.flows[i]
		if !e.used {
			oldest = i
			break
		}
		if e.elephant && !elephant && now-e.lastData < kept {
			continue
		}
		if oldest < 0 || e.lastData < t.flows[oldest].lastData {
			oldest = i
		}
	}
	if oldest >= 0 {
		t.flows[oldest] = echo{key: key, used: true, lastData: now, elephant: elephant}
	}
	return oldest
}

// removeFlow removes a flow when its connection begins or ends.
func (t *echoes) removeFlow(key uint64) {
	if i := t.find(key); i >= 0 {
		t.flows[i] = echo{}
	}
}

// endWindow ends the window in which the sender was notified once ack has passed it, or after maxEchoWindow.
func (e *echo) endWindow(now unit.Time, ack uint32) {
	if e.notified && (int32(ack-e.windowEnd) >= 0 || now-e.notifiedAt >= maxEchoWindow) {
		e.notified = false
	}
}

// notify records that the sender is notified of congestion in the present window.
func (e *echo) notify(now unit.Time) { e.notified, e.windowEnd, e.notifiedAt = true, e.end, now }

// processSegment updates echoes by a TCP segment that arrived. As an acknowledgement it replaces the stored one of the
// opposite flow, and may end or begin that flow's window. A SYN or RST removes both flows. Packets made by switches,
// notifications and trimmed packets have no effect.
func (g *Program) processSegment(env *dataplane.Env, p *packet.Packet) {
	t, flags := g.echoes, p.TCP.Flags
	if p.Meta.In == packet.NoPort || p.IsNotification() || p.Meta.Flags&packet.Trimmed != 0 {
		return
	}
	back := g.reverseKey(p)
	if flags&(packet.SYN|packet.RST) != 0 {
		t.removeFlow(g.key(p))
		t.removeFlow(back)
		return
	}
	if i := t.find(back); i >= 0 && flags&(packet.ACK|packet.FIN) == packet.ACK {
		e := &t.flows[i]
		e.endWindow(env.Now(), uint32(p.Ack))
		e.accurate = e.accurate || p.TCP.Present&packet.HasAE != 0
		if flags&packet.ECE != 0 && !e.notified {
			e.notify(env.Now())
		}
		g.storeAck(e, i, p)
	}
}

// storeAck stores acknowledgement p in e, which is entry i of the table. Of a segment with data it stores what a
// following one without data would have.
func (g *Program) storeAck(e *echo, i int, p *packet.Packet) {
	s := &p.TCP
	e.hasAck, e.seq, e.ack, e.window = true, p.Seq+int64(p.Payload), p.Ack, s.Window
	e.tsVal, e.tsEcho, e.has = s.TSVal, s.TSEcho, s.Present&packet.HasTimestamps
	e.src, e.dst, e.flow, e.hash = p.Src, p.Dst, p.Flow, p.Hash
	e.srcPort, e.dstPort, e.version, e.hops, e.tos = p.SrcPort, p.DstPort, p.Version, p.HopLimit, p.TOS&^packet.ECN
	if g.frames != nil {
		g.echoes.headers[i].store(g.frames, p)
	}
}

// processData updates the echo of a data segment's flow, with key k, and adds the flow if its sender may get copies. A
// segment with CWR begins a window in which the sender is not notified again.
func (g *Program) processData(now unit.Time, k uint64, p *packet.Packet, elephant bool) {
	t := g.echoes
	i := t.find(k)
	if i < 0 {
		if p.TOS&packet.ECN != packet.ECT0 || !elephant && g.config.Nack != NackAll {
			return // retransmissions have no ECT (RFC 3168 §6.1.5); other flows get no notices
		}
		if i = t.addFlow(now, k, elephant, unit.Time(g.config.Sketch.Windows)*g.config.Sketch.Duration); i < 0 {
			return
		}
		t.flows[i].end = uint32(p.Seq)
	}
	e := &t.flows[i]
	e.lastData, e.elephant, e.in = now, elephant, p.Meta.In
	e.accurate = e.accurate || p.TCP.Present&packet.HasAE != 0 || p.TOS&packet.ECN == packet.ECT1
	if end := uint32(p.Seq) + uint32(p.Payload); int32(end-e.end) > 0 {
		e.end = end
	}
	if p.TCP.Flags&packet.CWR != 0 {
		e.notify(now)
	}
}

// reverseKey returns the key of the opposite flow of p, in the form of key.
func (g *Program) reverseKey(p *packet.Packet) uint64 {
	if g.frames != nil {
		return g.frames.FlowNumber(p, true)
	}
	return g.ports[0].sketch.reverseKey(p)
}

// findEcho returns the index of the flow with this key if its sender may be sent a copy at now, otherwise −1 and why
// not. It ends a window older than maxEchoWindow.
func (g *Program) findEcho(now unit.Time, k uint64) (int, silenceReason) {
	i := g.echoes.find(k)
	if i < 0 {
		return -1, noECN
	}
	e := &g.echoes.flows[i]
	if e.notified && now-e.notifiedAt >= maxEchoWindow {
		e.notified = false
	}
	switch {
	case e.accurate:
		return -1, noECN
	case !e.hasAck:
		return -1, noAck
	case e.notified:
		return -1, notifiedAlready
	}
	return i, ""
}

// sendEcho sends a copy of the last acknowledgement, with ECE, to the sender of flow i, and records that the sender is
// notified in this window. The flow must have an acknowledgement (findEcho).
func (g *Program) sendEcho(env *dataplane.Env, i int) {
	e := &g.echoes.flows[i]
	e.notify(env.Now())
	c := g.newMessage(env)
	c.Kind, c.Proto, c.Src, c.Dst, c.SrcPort, c.DstPort, c.Flow = packet.Ack, packet.ProtoTCP, e.src, e.dst, e.srcPort,
		e.dstPort, e.flow
	c.Hash, c.HopLimit, c.TOS, c.Seq, c.Ack = e.hash, e.hops, e.tos, e.seq, e.ack
	s := &c.TCP
	s.Flags, s.Window, s.TSVal, s.TSEcho, s.Present = packet.ACK|packet.ECE, e.window, e.tsVal, e.tsEcho, e.has
	if g.frames != nil {
		h := &g.echoes.headers[i]
		g.frames.AppendEcho(c, h.bytes[:h.n], uint32(e.seq))
	} else {
		c.Version = e.version
		c.Size = g.framing.FrameBytes(c.Headers(), 0, false)
	}
	g.sendMessage(env, c, e.in)
}

// silenceReason is the reason why the sender of a packet without room is not notified.
type silenceReason string

// Words of metrics.
const (
	noBudget        silenceReason = "budget"           // its flow has used up its NACKs
	noECN           silenceReason = "no_ecn"           // it has not negotiated ECN, or counts marks
	noAck           silenceReason = "no_ack"           // no acknowledgement has passed
	notifiedAlready silenceReason = "already_notified" // it is notified otherwise in this window
	otherReason     silenceReason = "other"            // its transport understands no message, or nack excludes it
)
