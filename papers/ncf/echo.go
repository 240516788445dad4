package ncf

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Echoes (ours; BS'19 §4.3 has NACKs that senders understand) are for senders that do not know NACKs. form: ece sends
// one the last acknowledgement of its flow once more, with ECE (RFC 3168 §6.1.2): every TCP that has negotiated ECN
// reduces for that as for a mark, at once, without waiting for the packet in question to reach the receiver and for
// the receiver's answer to come back. It learns no supply, and not which packet is gone: that it finds out by SACK,
// as ever.
//
// A copy says nothing that the receiver has not said: the same acknowledgement, window and time stamps, never of
// later ones, for to acknowledge what has not arrived kills a connection, and an invented time stamp has the true
// ones refused (docs/sources.md#injected-acks). Its blocks of SACK are left out, for one that reports a duplicate
// (RFC 2883) would be reported again. What is copied passes here anyway, so who forges acknowledgements gains nothing
// by it.
//
// One in a window of data is enough, and more are harmful: RFC 3168 §6.1.2 has senders reduce once a window, and
// where SACK is off a copy is a duplicate acknowledgement (RFC 5681 §2), three of which are a loss. A window ends
// when what was sent last before the copy is acknowledged, or after forgotten at the latest. The receiver repeats ECE
// until it sees CWR (§6.1.3), as an acknowledgement may be lost; the switch does not, as it goes on telling while
// there is congestion. A window in which the sender hears by other means needs no copy: one in which an ACK with ECE
// passes, from the receiver or another switch, or a segment with CWR, by which the sender says that it has reduced.
//
// Only flows whose segments have ECT(0) get copies. ECT(1) is of L4S, and with the flag AE, from the receiver or the
// sender, ECE is a digit of Accurate ECN's counter (RFC 9768 §3.2.2), which must not change.
const (
	echoSets  = 256
	echoWays  = 4
	forgotten = unit.Second // as long as the least timeout of RFC 6298 §2.4
)

// echoes are the last acknowledgements of flows, in a table whose size is fixed. Data brings a flow in, and takes the
// place of one that has been silent longest, but an elephant's only for another elephant.
type echoes struct {
	flows   []echo   // by set, way
	headers []header // of the acknowledgements' frames; nil in a network
}

// echo is what the switch knows of a flow and of its last acknowledgement.
type echo struct {
	key              uint64    // of its data
	seen             unit.Time // when data came last
	notifiedAt       unit.Time
	end              uint32 // behind the last byte that was seen
	until            uint32 // end when the sender was notified
	used             bool
	elephant         bool
	accurate         bool // it counts marks
	notified, echoed bool // in the present window; there is an acknowledgement
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

func newEchoes(standalone bool) *echoes {
	e := &echoes{flows: make([]echo, echoSets*echoWays)}
	if standalone {
		e.headers = make([]header, len(e.flows))
	}
	return e
}

// find returns the number of a flow, −1 if it is not there.
func (t *echoes) find(key uint64) int {
	first := echoSet(key)
	for i := first; i < first+echoWays; i++ {
		if e := &t.flows[i]; e.used && e.key == key {
			return i
		}
	}
	return -1
}

func echoSet(key uint64) int { return int((key*0x9e3779b97f4a7c15)>>32%echoSets) * echoWays }

// enter makes room for a flow; −1: there is none. kept is for how long an elephant keeps its place while it is
// silent.
func (t *echoes) enter(now unit.Time, key uint64, elephant bool, kept unit.Time) int {
	first, oldest := echoSet(key), -1
	for i := first; i < first+echoWays; i++ {
		e := &t.flows[i]
		if !e.used {
			oldest = i
			break
		}
		if e.elephant && !elephant && now-e.seen < kept {
			continue
		}
		if oldest < 0 || e.seen < t.flows[oldest].seen {
			oldest = i
		}
	}
	if oldest >= 0 {
		t.flows[oldest] = echo{key: key, used: true, seen: now, elephant: elephant}
	}
	return oldest
}

// forget drops a flow, whose connection begins or ends.
func (t *echoes) forget(key uint64) {
	if i := t.find(key); i >= 0 {
		t.flows[i] = echo{}
	}
}

// over ends the window in which the sender was notified, if so much is acknowledged.
func (e *echo) over(now unit.Time, ack uint32) {
	if e.notified && (int32(ack-e.until) >= 0 || now-e.notifiedAt >= forgotten) {
		e.notified = false
	}
}

// notify records that the sender is notified of congestion in the present window.
func (e *echo) notify(now unit.Time) { e.notified, e.until, e.notifiedAt = true, e.end, now }

// passes takes over what a segment of TCP says of its own flow and, as an acknowledgement, of that the other way.
func (g *Program) passes(env *dataplane.Env, p *packet.Packet) {
	t, flags := g.echoes, p.TCP.Flags
	if p.Meta.In == packet.NoPort || p.Notifies() || p.Meta.Flags&packet.Trimmed != 0 {
		return
	}
	back := g.back(p)
	if flags&(packet.SYN|packet.RST) != 0 {
		t.forget(g.key(p))
		t.forget(back)
		return
	}
	if i := t.find(back); i >= 0 && flags&(packet.ACK|packet.FIN) == packet.ACK {
		e := &t.flows[i]
		e.over(env.Now(), uint32(p.Ack))
		e.accurate = e.accurate || p.TCP.Has&packet.HasAE != 0
		if flags&packet.ECE != 0 && !e.notified {
			e.notify(env.Now())
		}
		g.note(e, i, p)
	}
}

// note keeps an acknowledgement; one that comes with data as the next without would be.
func (g *Program) note(e *echo, i int, p *packet.Packet) {
	s := &p.TCP
	e.echoed, e.seq, e.ack, e.window = true, p.Seq+int64(p.Payload), p.Ack, s.Window
	e.tsVal, e.tsEcho, e.has = s.TSVal, s.TSEcho, s.Has&packet.HasTimestamps
	e.src, e.dst, e.flow, e.hash = p.Src, p.Dst, p.Flow, p.Hash
	e.srcPort, e.dstPort, e.version, e.hops, e.tos = p.SrcPort, p.DstPort, p.Version, p.HopLimit, p.TOS&^packet.ECN
	if g.frames != nil {
		g.echoes.headers[i].take(g.frames, p)
	}
}

// sends takes over what a data segment says of its flow, whose key is k.
func (g *Program) sends(now unit.Time, k uint64, p *packet.Packet, elephant bool) {
	t := g.echoes
	i := t.find(k)
	if i < 0 {
		if p.TOS&packet.ECN != packet.ECT0 || !elephant && g.config.Nack != NackAll {
			return // retransmissions have no ECT (RFC 3168 §6.1.5); of other flows nobody is told
		}
		if i = t.enter(now, k, elephant, unit.Time(g.config.Sketch.Windows)*g.config.Sketch.Duration); i < 0 {
			return
		}
		t.flows[i].end = uint32(p.Seq)
	}
	e := &t.flows[i]
	e.seen, e.elephant, e.in = now, elephant, p.Meta.In
	e.accurate = e.accurate || p.TCP.Has&packet.HasAE != 0 || p.TOS&packet.ECN == packet.ECT1
	if end := uint32(p.Seq) + uint32(p.Payload); int32(end-e.end) > 0 {
		e.end = end
	}
	if p.TCP.Flags&packet.CWR != 0 {
		e.notify(now)
	}
}

// back is the key of the flow the other way.
func (g *Program) back(p *packet.Packet) uint64 {
	if g.frames != nil {
		return g.frames.Flow(p, true)
	}
	return g.ports[0].sketch.back(p)
}

// echoable returns the flow with this key, if its sender may be sent a copy now.
func (g *Program) echoable(now unit.Time, k uint64) (int, silence) {
	i := g.echoes.find(k)
	if i < 0 {
		return -1, noECN
	}
	e := &g.echoes.flows[i]
	if e.notified && now-e.notifiedAt >= forgotten {
		e.notified = false
	}
	switch {
	case e.accurate:
		return -1, noECN
	case !e.echoed:
		return -1, noAck
	case e.notified:
		return -1, hears
	}
	return i, ""
}

// echo sends the copy to the sender of flow i.
func (g *Program) echo(env *dataplane.Env, i int) {
	e := &g.echoes.flows[i]
	e.notify(env.Now())
	c := g.fresh(env)
	c.Kind, c.Proto, c.Src, c.Dst, c.SrcPort, c.DstPort, c.Flow = packet.Ack, packet.ProtoTCP, e.src, e.dst, e.srcPort,
		e.dstPort, e.flow
	c.Hash, c.HopLimit, c.TOS, c.Seq, c.Ack = e.hash, e.hops, e.tos, e.seq, e.ack
	s := &c.TCP
	s.Flags, s.Window, s.TSVal, s.TSEcho, s.Has = packet.ACK|packet.ECE, e.window, e.tsVal, e.tsEcho, e.has
	if g.frames != nil {
		h := &g.echoes.headers[i]
		g.frames.Echo(c, h.bytes[:h.n], uint32(e.seq))
	} else {
		c.Version = e.version
		c.Size = g.framing.Frame(c.Headers(), 0, false)
	}
	g.leave(env, c, e.in)
}

// A silence is why the sender of a packet that found no room is not told.
type silence string

// Words of metrics.
const (
	noBudget silence = "budget" // its flow has used up its NACKs
	noECN    silence = "no_ecn" // it has not negotiated ECN, or counts marks
	noAck    silence = "no_ack" // no acknowledgement has passed
	hears    silence = "told"   // it hears of it in this window
	others   silence = "other"  // no message would be understood, or the option nack has none
)
