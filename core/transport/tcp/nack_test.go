package tcp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

// nackOf returns the NACK that a switch makes of a data packet that found no room (BS'19 §4.3): its headers with the
// endpoints swapped, and the notice.
func nackOf(p *packet.Packet, n packet.Notification) *packet.Packet {
	q := *p
	q.SwapEnds()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&n)
	return &q
}

func trimmed(p *packet.Packet) *packet.Packet {
	return nackOf(p, packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload})
}

// optionOf returns a NACK of p in a TCP option.
func optionOf(p *packet.Packet, n packet.Notification) *packet.Packet {
	q := *p
	q.SwapEnds()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	if !q.SetNotice(&n) {
		panic("the option has no room")
	}
	return &q
}

// makers make NACKs in either form.
var makers = [2]func(*packet.Packet, packet.Notification) *packet.Packet{nackOf, optionOf}

// nackForms are the forms of a NACK of a trimmed packet.
var nackForms = []struct {
	name string
	of   func(p *packet.Packet) *packet.Packet
}{
	{"extension", trimmed},
	{"tcp_option", func(p *packet.Packet) *packet.Packet {
		return optionOf(p, packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload})
	}},
}

// nackDrops makes a switch send a NACK for each dropped data packet. It takes the time away to the sender.
func (w *pipe) nackDrops(away unit.Time) {
	w.onDrop = func(p *packet.Packet) {
		if p.Payload > 0 {
			w.inject(trimmed(p), away)
		}
	}
}

// sentAs returns a copy of the data packet that was a segment's last transmission.
func sentAs(w *pipe, g *segment) *packet.Packet {
	p := &packet.Packet{Src: 1, Dst: 2, SrcPort: 10000, DstPort: 5000, Proto: packet.ProtoTCP, Version: 4, Seq: g.seq,
		Ack: w.s.peer.next, Payload: int32(g.end - g.seq)}
	if g.flags&final != 0 {
		p.Payload--
	}
	p.TCP.Flags = packet.ACK
	writeStamp(&p.TCP, g.sent, w.s.peer.tsRecent)
	return p
}

// numbered calls lost for the transmissions 0, 1, … with payload.
func numbered(lost func(n int, p *packet.Packet) bool) func(p *packet.Packet) (bool, unit.Time) {
	n := -1
	return func(p *packet.Packet) (bool, unit.Time) {
		if p.Payload == 0 {
			return true, 0
		}
		n++
		return !lost(n, p), 0
	}
}

// TestNackExact checks BS'19 §4.3: "NACKs also help the sender directly infer which packet did not reach the receiver".
// Any trimmed packets are sent again once, and no others: no duplicate arrives, no timer fires, and no packet waits for
// a SACK. Two go at once, and more as packets are delivered, since a sender that fills all places at once causes a
// storm (transport.NACKPacer). With nacks: supply the bound determines when.
func TestNackExact(t *testing.T) {
	for _, mode := range []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply} {
		t.Run(mode, func(t *testing.T) {
			for name := range controllers {
				for _, gone := range [][]int{{0}, {9}, {3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {11, 20, 29, 30, 41}, {68},
					{66, 67, 68}} {
					w := newPipe(t, name, 69*1448-100, func(c *Config) { c.Nacks = mode })
					w.limit = 0
					lost := map[int64]int{}
					w.onData = numbered(func(n int, p *packet.Packet) bool {
						for _, g := range gone {
							if n == g {
								lost[p.Seq]++
								return true
							}
						}
						return false
					})
					var nacked unit.Time // when the last NACK came to the sender
					w.onDrop = func(p *packet.Packet) { w.inject(trimmed(p), ms/2); nacked = w.now + ms/2 }
					sent, again := map[int64]int{}, 0
					w.emitted = func(p *packet.Packet) {
						if p.Payload > 0 {
							if sent[p.Seq]++; sent[p.Seq] > 1 {
								again++
							}
							soon := 250 * unit.Microsecond // BBR paces
							if again > 2 {
								soon = 70 * ms // six round trips
							}
							if sent[p.Seq] > 1 && (mode != transport.NacksSupply && w.now > nacked+soon ||
								p.Payload != 1448 && p.Seq+int64(p.Payload) != w.s.app.end) {
								t.Errorf("%s, %s, %v: %d sent again at %v, its NACK came at %v", mode, name, gone, p.Seq, w.now, nacked)
							}
						}
					}
					w.runUntil(2 * unit.Second)
					for seq, n := range sent {
						if n != 1+lost[seq] {
							t.Errorf("%s, %s, %v: %d was sent %d times, lost %d times", mode, name, gone, seq, n, lost[seq])
						}
					}
					c := w.s.counters
					if c.Finished == unit.Never || c.Retransmitted != int64(len(gone)) || c.NacksTaken != int64(len(gone)) ||
						c.NacksRefused != 0 || w.r.counters.DuplicateCount() != 0 || w.s.rto.timeouts != 0 {
						t.Errorf("%s, %s, %v: %+v, %d duplicates, %d timeouts", mode, name, gone, c, w.r.counters.DuplicateCount(),
							w.s.rto.timeouts)
					}
				}
			}
		})
	}
}

// TestNackSpans checks that one NACK can name several packets of one time stamp. All that are in flight are sent again,
// the others are passed over, and one named twice counts once.
func TestNackSpans(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.limit = 0
	w.runUntil(60 * ms)
	q := &w.s.queue
	at := func(n uint32) *segment { return q.at(q.first + n) }
	base := at(10)
	n := packet.Notification{Cause: packet.CauseReclaimed, Lost: 1448}
	for _, s := range []packet.Span{{Offset: 1448, Lost: 1448}, {Offset: 1448, Lost: 1448}, {Offset: 2 * 1448, Lost: 1447},
		{Offset: 3*1448 + 1, Lost: 1448}, {Offset: -1448, Lost: 1448}, {Offset: 1 << 30, Lost: 1448}, {Offset: math.MinInt32,
			Lost: 1448}} {
		n.More[n.Spans] = s
		n.Spans++
	}
	for i := range uint32(4) {
		at(9 + i).sent = base.sent // within a tick
	}
	var told []cc.Notice
	w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller,
		notice: func(n cc.Notice) { told = append(told, n) }}
	w.s.Receive(w.now, nackOf(sentAs(w, base), n))
	w.s.check(t, w.now)
	if w.s.lostOut != 3 || at(9).flags&nacked == 0 || base.flags&nacked == 0 || at(11).flags&nacked == 0 {
		t.Errorf("%d segments are lost", w.s.lostOut)
	}
	if len(told) != 1 || told[0] != (cc.Notice{Kind: cc.NackNotice, Seq: base.seq, Lost: 3 * 1448}) {
		t.Errorf("the controller was told %+v", told)
	}
	for i := range 3 {
		if w.s.plan.action != sendResent || (w.s.plan.sendAt > w.now) != (i == 2) {
			t.Fatalf("retransmission %d is sent at %v, it is %v: two go at once", i, w.s.plan.sendAt, w.now)
		}
		w.s.Emit(max(w.now, w.s.plan.sendAt), &packet.Packet{})
	}
	if w.s.plan.action == sendResent || w.s.waiting != 0 {
		t.Error("there is more to be sent again")
	}
}

type noticeSpy struct {
	cc.Controller
	notice func(cc.Notice)
	loss   func(cc.Loss)
}

func (s *noticeSpy) OnNotice(now unit.Time, n cc.Notice) {
	if s.notice != nil {
		s.notice(n)
	}
	s.Controller.OnNotice(now, n)
}

func (s *noticeSpy) OnLoss(now unit.Time, l cc.Loss) {
	if s.loss != nil {
		s.loss(l)
	}
	s.Controller.OnLoss(now, l)
}

// in brings a new connection into a state of recovery, a round trip or more after its last
// reduction, with data in flight.
func in(t *testing.T, state cc.RecoveryState, config func(c *Config)) *pipe {
	w := newPipe(t, "reno", 0, func(c *Config) { c.ECN, c.Bursts = true, false; config(c) })
	w.limit, w.rate = 0, 100*unit.Mbps
	w.runUntil(58 * ms)
	switch una := w.s.una; state {
	case cc.Open:
	case cc.Disorder:
		for n := w.s.queue.first + 1; n != w.s.queue.end; n++ { // the second of two that were sent together
			if a, b := w.s.queue.at(n-1), w.s.queue.at(n); b.sent-a.sent < ms/2 {
				w.s.Receive(w.now, ackOf(w, a.seq, b.seq, b.end))
				break
			}
		}
	case cc.Reduced:
		p := ackOf(w, una+1448)
		p.TCP.Flags |= packet.ECE
		w.s.Receive(w.now, p)
	case cc.Recovery:
		w.s.Receive(w.now, ackOf(w, una, una+1448, una+5*1448))
	case cc.Timeout:
		w.onData = func(*packet.Packet) (bool, unit.Time) { return false, 0 }
		for w.s.state != cc.Timeout && w.step(unit.Second) {
		}
	}
	if w.s.state != state {
		t.Fatalf("%v, want %v", w.s.state, state)
	}
	return w
}

// TestNackTable checks causes, modes and states in one table: the marked packets, the controller's notice, the next
// state. In states with a continuing reduction, the NACK arrives once within a round trip of it and once later, about a
// packet sent since then. So it does in a recovery that NACKs began.
func TestNackTable(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-9s %-6s %-29s %s\n", "cause", "nacks", "state", "→ state, lost, the controller is told")
	for _, cause := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant,
		packet.CauseMarked} {
		for _, mode := range []string{transport.NacksLoss, transport.NacksSupply, transport.NacksResend,
			transport.NacksIgnored} {
			for _, x := range []struct {
				state cc.RecoveryState
				later bool
			}{{cc.Open, false}, {cc.Disorder, false}, {cc.Reduced, false}, {cc.Reduced, true}, {cc.Recovery, false},
				{cc.Recovery, true}, {cc.Timeout, false}, {cc.Timeout, true}} {
				w := in(t, x.state, func(c *Config) { c.Nacks = mode })
				name := x.state.String()
				last := func() *segment { return w.s.queue.at(w.s.queue.end - 1) }
				if x.later {
					name += ", a round trip later"
					w.now += w.s.SRTT() + ms
					w.s.planNext(w.now)
					if w.s.plan.sendAt > w.now { // something that is sent since
						w.s.Receive(w.now, ackOf(w, w.s.una+30*1448))
					}
					p := &packet.Packet{}
					w.s.Emit(w.now, p)
					w.s.queue.at(w.s.queue.find(p.Seq, 1448)).sent = w.now
				}
				g := last()
				if x.later {
					for n := w.s.queue.first; n != w.s.queue.end; n++ {
						if w.s.queue.at(n).sent == w.now {
							g = w.s.queue.at(n)
						}
					}
				}
				lostBefore, inFlight := w.s.lostOut-w.s.resentOut, w.s.inFlight()
				var said []string
				w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller,
					notice: func(n cc.Notice) {
						said = append(said, fmt.Sprintf("%s of %d B", map[cc.NoticeKind]string{cc.NackNotice: "NACK",
							cc.CNPNotice: "CNP"}[n.Kind], n.Lost))
					},
					loss: func(l cc.Loss) { said = append(said, l.Kind.String()) }}
				n := packet.Notification{Cause: cause}
				if cause <= packet.CauseReclaimed {
					n.Lost = int32(g.end - g.seq)
				}
				sent := g.sent
				w.s.Receive(w.now, nackOf(sentAs(w, g), n))
				w.s.check(t, w.now)
				state := w.s.state.String()
				if w.s.quiet {
					state += " (quiet)"
				}
				c := w.s.counters
				if mode == transport.NacksIgnored && (c.NacksTaken+c.NacksRefused > 0 || w.s.inFlight() != inFlight ||
					g.sent != sent) {
					t.Errorf("%v in %s is not ignored: %+v", cause, name, c)
				}
				fmt.Fprintf(&out, "%-9s %-6s %-29s → %s, %d, %s\n", cause, mode, name, state, w.s.lostOut-w.s.resentOut-lostBefore,
					strings.Join(said, ", "))
			}
		}
	}
	testkit.Golden(t, "nacks.txt", out.String())
}

// TestNackPhases checks that every other phase ignores NACKs, and so do receivers and connections with sealed feedback
// (draft-miao §9.1). A NACK never resends a SYN. An ICMP source quench (RFC 6633 §3) has no way in: another protocol is
// refused.
func TestNackPhases(t *testing.T) {
	w := newPipe(t, "reno", 20000, nil)
	var syn packet.Packet
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.TCP.Flags&packet.SYN != 0 {
			syn = *p
			w.s.Receive(w.now, nackOf(p, packet.Notification{Cause: packet.CauseTrimmed, Lost: 1}))
			w.s.Receive(w.now, nackOf(p, packet.Notification{Cause: packet.CauseElephant}))
		}
		return true, 0
	}
	var last packet.Packet
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			last = *p
		}
	}
	w.runUntil(ms)
	if w.s.phase != opening || w.s.counters.NacksRefused != 2 || w.s.NextSend() != unit.Never {
		t.Error(w.s.phase, w.s.counters)
	}
	w.runUntil(5 * unit.Second)
	if w.s.phase != closed {
		t.Fatal(w.s.phase)
	}
	for _, p := range []*packet.Packet{&syn, &last} {
		w.s.Receive(w.now, trimmed(p))
		w.s.Receive(w.now, nackOf(p, packet.Notification{Cause: packet.CauseElephant}))
	}
	if c := w.s.counters; c.NacksTaken != 0 || c.NacksRefused != 6 || c.Retransmitted != 0 ||
		w.s.NextSend() != unit.Never || w.s.NextTimer() != unit.Never {
		t.Errorf("%+v", c)
	}

	w = newPipe(t, "reno", 0, nil)
	w.runUntil(60 * ms)
	g := w.s.queue.at(w.s.queue.first)
	before := w.r.next
	if p := sentAs(w, g); w.r.Receive(w.now, func() *packet.Packet {
		p.SetNotification(&packet.Notification{Lost: 1448})
		return p
	}()) || w.r.next != before {
		t.Error("the receiver takes a NACK for data")
	}
	for _, proto := range []uint8{1, 58, packet.ProtoUDP, packet.ProtoRDMA} { // ICMP, ICMPv6
		p := trimmed(sentAs(w, g))
		p.Proto = proto
		w.s.Receive(w.now, p)
	}
	if c := w.s.counters; c.NacksTaken != 0 || c.NacksRefused != 4 {
		t.Errorf("another protocol: %+v", c)
	}

	sealed := newPipe(t, "reno", 0, func(c *Config) { c.Telemetry.Integrity = transport.IntegrityKeyed })
	sealed.runUntil(60 * ms)
	sealed.s.Receive(sealed.now, trimmed(sentAs(sealed, sealed.s.queue.at(sealed.s.queue.first))))
	if c := sealed.s.counters; c.NacksTaken != 0 || c.NacksRefused != 1 || sealed.s.lostOut > 0 {
		t.Errorf("sealed feedback: %+v", c)
	}
}

// TestNackRules checks the finer rules. A number within a segment is not a segment's number, and a notice that
// contradicts itself or is doubled is refused. Packets sent before the last reduction cause no further one, however
// late their NACK. A pending TLP yields to the RTO, which keeps its time. A NACKed loss remains when a timeout is
// undone.
func TestNackRules(t *testing.T) {
	start := func() (*pipe, *segment) {
		w := newPipe(t, "reno", 0, func(c *Config) { c.Bursts = false })
		w.runUntil(58 * ms)
		return w, w.s.queue.at(w.s.queue.end - 1)
	}
	for what, change := range map[string]func(p *packet.Packet) *packet.Packet{
		"a number within the segment": func(p *packet.Packet) *packet.Packet { p.Seq += 100; return trimmed(p) },
		"one before it":               func(p *packet.Packet) *packet.Packet { p.Seq--; return trimmed(p) },
		"another length":              func(p *packet.Packet) *packet.Packet { p.Payload--; return trimmed(p) },
		"a loss of nothing":           func(p *packet.Packet) *packet.Packet { return nackOf(p, packet.Notification{}) },
		"an elephant's loss": func(p *packet.Packet) *packet.Packet {
			return nackOf(p, packet.Notification{Cause: packet.CauseElephant, Lost: 1448})
		},
		"an elephant's losses": func(p *packet.Packet) *packet.Packet {
			return nackOf(p, packet.Notification{Cause: packet.CauseElephant, Spans: 1,
				More: [packet.MaxSpans]packet.Span{{Lost: 1448}}})
		},
	} {
		t.Run(what, func(t *testing.T) {
			w, g := start()
			before := state(w.s)
			if w.s.Receive(w.now, change(sentAs(w, g))); state(w.s) != before || w.s.counters.NacksRefused != 1 {
				t.Errorf("%s is taken", what)
			}
		})
	}

	w, g := start()
	for range 2 {
		w.s.Receive(w.now, nackOf(sentAs(w, g), packet.Notification{Cause: packet.CauseElephant}))
	}
	if c := w.s.counters; c.NacksTaken != 1 || c.NacksRefused != 1 {
		t.Errorf("a notice twice: %+v", c)
	}
	w.s.Receive(w.now, trimmed(sentAs(w, g))) // by another switch
	if c := w.s.counters; c.NacksTaken != 2 || w.s.lostOut != 1 {
		t.Errorf("an elephant's packet was trimmed: %+v", c)
	}

	w, g = start()
	reductions := 0
	w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, loss: func(l cc.Loss) {
		if l.Kind == cc.FastRecovery {
			reductions++
		}
	}}
	if w.s.timer.kind != lossProbe {
		t.Fatal("no TLP is due")
	}
	rto := w.s.queue.at(w.s.queue.first).sent + w.s.rto.value
	late := trimmed(sentAs(w, w.s.queue.at(w.s.queue.end-2)))
	w.s.Receive(w.now, trimmed(sentAs(w, g)))
	if w.s.timer.kind != retransmission || w.s.timer.at != rto {
		t.Errorf("timer %d at %v, want the RTO at %v", w.s.timer.kind, w.s.timer.at, rto)
	}
	w.s.Receive(w.now+3*w.s.SRTT(), late)
	if w.s.counters.NacksTaken != 2 || w.s.lostOut != 2 || reductions != 1 {
		t.Errorf("%d reductions; both packets were sent before the first", reductions)
	}
	w.s.undoReduction(w.now, true)
	if w.s.check(t, w.now); w.s.lostOut != 2 {
		t.Errorf("after an undo %d are lost", w.s.lostOut)
	}

	// With nacks: resend a controller is notified of no loss, and of no end of one.
	w = newPipe(t, "cubic", 69*1448, func(c *Config) { c.Nacks = transport.NacksResend })
	told, last := 0, ""
	w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, notice: func(cc.Notice) { told++ },
		loss: func(l cc.Loss) {
			last = l.Kind.String()
		}}
	w.nackDrops(ms)
	w.onData = numbered(func(n int, _ *packet.Packet) bool { return n == 5 || n == 30 })
	if w.runUntil(unit.Second); told != 2 || last != "" || w.s.counters.Finished == unit.Never {
		t.Errorf("%d notices, %q", told, last)
	}
}
