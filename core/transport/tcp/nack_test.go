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
	"weir/internal/testutil"
)

// nackOf is what a switch makes of a data packet that found no room (BS'19 §4.3): its headers
// with the endpoints swapped, and the notice.
func nackOf(p *packet.Packet, n packet.Notification) *packet.Packet {
	q := *p
	q.TurnRound()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&n)
	return &q
}

func trimmed(p *packet.Packet) *packet.Packet {
	return nackOf(p, packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload})
}

// nackDrops has a switch, so far from the sender, NACK whatever is dropped.
func (w *pipe) nackDrops(away unit.Time) {
	w.onDrop = func(p *packet.Packet) {
		if p.Payload > 0 {
			w.inject(trimmed(p), away)
		}
	}
}

// sentAs makes a copy of the data packet that was a segment's last transmission.
func sentAs(w *pipe, g *segment) *packet.Packet {
	p := &packet.Packet{Src: 1, Dst: 2, SrcPort: 10000, DstPort: 5000, Proto: packet.ProtoTCP, Version: 4, Seq: g.seq,
		Ack: w.s.peerNext, Payload: int32(g.end - g.seq)}
	if g.flags&final != 0 {
		p.Payload--
	}
	p.TCP.Flags = packet.ACK
	stamp(&p.TCP, g.sent, w.s.tsRecent)
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

// BS'19 §4.3: "NACKs also help the sender directly infer which packet did not reach the
// receiver". What was trimmed is sent again at once and once, nothing else is, whichever
// packets it were: no duplicate arrives, no timer fires, no SACK is waited for. With nacks: supply the
// bound says when.
func TestNackExact(t *testing.T) {
	for _, mode := range []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply} {
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
				sent := map[int64]int{}
				w.emitted = func(p *packet.Packet) {
					if p.Payload > 0 {
						// BBR paces
						if sent[p.Seq]++; sent[p.Seq] > 1 && (mode != transport.NacksSupply && w.now > nacked+250*unit.Microsecond ||
							p.Payload != 1448 && p.Seq+int64(p.Payload) != w.s.appEnd) {
							t.Errorf("%s, %s, %v: %d sent again at %v, its NACK came at %v", mode, name, gone, p.Seq, w.now, nacked)
						}
					}
				}
				w.run(2 * unit.Second)
				for seq, n := range sent {
					if n != 1+lost[seq] {
						t.Errorf("%s, %s, %v: %d was sent %d times, lost %d times", mode, name, gone, seq, n, lost[seq])
					}
				}
				c := w.s.counters
				if c.Finished == unit.Never || c.Retransmitted != int64(len(gone)) || c.NacksTaken != int64(len(gone)) ||
					c.NacksRefused != 0 || w.r.counters.Duplicates != 0 || w.s.timeouts != 0 {
					t.Errorf("%s, %s, %v: %+v, %d duplicates, %d timeouts", mode, name, gone, c, w.r.counters.Duplicates, w.s.timeouts)
				}
			}
		}
	}
}

// One NACK can name several packets of one time stamp: all that are out are sent again, those
// that are not are passed over, and one named twice counts once.
func TestNackSpans(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.limit = 0
	w.run(60 * ms)
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
	w.s.control = &noticeSpy{Controller: w.s.control, notice: func(n cc.Notice) { told = append(told, n) }}
	w.s.Receive(w.now, nackOf(sentAs(w, base), n))
	w.s.check(t, w.now)
	if w.s.lostOut != 3 || at(9).flags&nacked == 0 || base.flags&nacked == 0 || at(11).flags&nacked == 0 {
		t.Errorf("%d segments are lost", w.s.lostOut)
	}
	if len(told) != 1 || told[0] != (cc.Notice{Kind: cc.NackNotice, Seq: base.seq, Lost: 3 * 1448}) {
		t.Errorf("the controller was told %+v", told)
	}
	for i := range 3 {
		if w.s.plan != sendResent || w.s.planAt > w.now {
			t.Fatalf("retransmission %d is not sent at once", i)
		}
		w.s.Emit(w.now, &packet.Packet{})
	}
	if w.s.plan == sendResent || w.s.waiting != 0 {
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
func in(t *testing.T, state cc.State, config func(c *Config)) *pipe {
	w := newPipe(t, "reno", 0, func(c *Config) { c.ECN, c.Bursts = true, false; config(c) })
	w.limit, w.rate = 0, 100*unit.Mbps
	w.run(58 * ms)
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

// Causes, modes and states, in one table: what is marked, what the controller is told, which
// state follows. In the states in which a reduction goes on, the NACK comes once within
// a round trip of it and once later, about what was sent since; so it does in a recovery that
// NACKs began.
func TestNackTable(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-9s %-6s %-29s %s\n", "cause", "nacks", "state", "→ state, lost, the controller is told")
	for _, cause := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant,
		packet.CauseMarked} {
		for _, mode := range []string{transport.NacksLoss, transport.NacksSupply, transport.NacksResend,
			transport.NacksIgnored} {
			for _, x := range []struct {
				state cc.State
				later bool
			}{{cc.Open, false}, {cc.Disorder, false}, {cc.Reduced, false}, {cc.Reduced, true}, {cc.Recovery, false},
				{cc.Recovery, true}, {cc.Timeout, false}, {cc.Timeout, true}} {
				w := in(t, x.state, func(c *Config) { c.Nacks = mode })
				name := x.state.String()
				last := func() *segment { return w.s.queue.at(w.s.queue.end - 1) }
				if x.later {
					name += ", a round trip later"
					w.now += w.s.SRTT() + ms
					w.s.think(w.now)
					if w.s.planAt > w.now { // something that is sent since
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
				w.s.control = &noticeSpy{Controller: w.s.control,
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
	testutil.Golden(t, "nacks.txt", out.String())
}

// In every other phase a NACK is ignored, and so is one that comes to the receiver, or in
// front of whom feedback is sealed (draft-miao §9.1); a SYN is never sent again by one. There is no
// way in for an ICMP source quench (RFC 6633 §3): another protocol is refused.
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
	w.run(ms)
	if w.s.phase != opening || w.s.counters.NacksRefused != 2 || w.s.NextSend() != unit.Never {
		t.Error(w.s.phase, w.s.counters)
	}
	w.run(5 * unit.Second)
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
	w.run(60 * ms)
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
	sealed.run(60 * ms)
	sealed.s.Receive(sealed.now, trimmed(sentAs(sealed, sealed.s.queue.at(sealed.s.queue.first))))
	if c := sealed.s.counters; c.NacksTaken != 0 || c.NacksRefused != 1 || sealed.s.lostOut > 0 {
		t.Errorf("sealed feedback: %+v", c)
	}
}

// state is all of a sender that a packet from outside could change, but for the count of what
// is refused.
func state(s *Sender) string {
	c := s.counters
	c.NacksRefused = 0
	return fmt.Sprintf("%+v %+v %+v %+v %+v %v %v %v %v %+v", s.recovery, s.nacks, s.rttEstimator, c, s.control, s.timerAt,
		s.plan, s.planAt, s.decision, s.queue.ring)
}

// Off the path, an attacker has to know the tuple: with any part of it wrong nothing changes.
func TestNackWithoutTuple(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.run(60 * ms)
	before := state(w.s)
	for _, change := range []func(p *packet.Packet){
		func(p *packet.Packet) { p.SrcPort++ }, func(p *packet.Packet) { p.DstPort-- },
		func(p *packet.Packet) { p.Src++ }, func(p *packet.Packet) { p.Dst++ },
		func(p *packet.Packet) { p.TurnRound() }, func(p *packet.Packet) { p.Payload = 1448 },
		func(p *packet.Packet) { p.TCP.Has = 0 }, func(p *packet.Packet) { p.TCP.Flags |= packet.RST },
		func(p *packet.Packet) { p.TCP.Flags |= packet.SYN },
		func(p *packet.Packet) { p.SetExtension(packet.ExtNotification, []byte{0x10, 0, 5}) },
	} {
		for i := range uint32(w.s.queue.len()) {
			p := trimmed(sentAs(w, w.s.queue.at(w.s.queue.first+i)))
			change(p)
			if w.s.Receive(w.now, p) || state(w.s) != before {
				t.Fatal("a NACK with a wrong header counts")
			}
		}
	}
	if c := w.s.counters; c.NacksTaken != 0 || c.NacksRefused != 10*int64(w.s.queue.len()) {
		t.Errorf("%+v", c)
	}
}

// Off the path, with the tuple, an attacker sweeps sequence numbers. If it knows the stamp, a
// guess hits with the number of segments that were sent in that millisecond over 2³²; if
// not, it has to guess both. The sweep here is of all numbers within 2 MB around what is out
// (of 4 GB), with the stamp known and with 1000 others; and of a million anywhere.
func TestNackSweep(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.unchecked = true
	w.run(400 * ms)
	stamp := stampOf(w.s.queue.at(w.s.queue.first + uint32(w.s.queue.len()/2)).sent)
	out, all := 0, w.s.queue.len()
	for n := w.s.queue.first; n != w.s.queue.end; n++ {
		if stampOf(w.s.queue.at(n).sent) == stamp {
			out++
		}
	}
	guess := sentAs(w, w.s.queue.at(w.s.queue.first))
	sweep := func(stamp uint32, numbers func(i int) int64, n int) int64 {
		p := trimmed(guess)
		p.TCP.TSVal = stamp
		before := w.s.counters.NacksTaken
		for i := range n {
			p.Seq = numbers(i)
			w.s.Receive(w.now, p)
		}
		return w.s.counters.NacksTaken - before
	}
	random := unit.NewRandom(1, "attacker")
	around := func(i int) int64 { return w.s.una - 1<<20 + int64(i) }
	var wrong int64
	wrong += sweep(stamp+500, around, 1<<21) // not yet
	for d := range uint32(1000) {
		wrong += sweep(stamp-2000-d, func(i int) int64 { return w.s.una + int64(i)*1448 }, all)
	}
	anywhere := sweep(random.Uint32(), func(int) int64 { return int64(random.Uint32()) }, 1<<20)
	if wrong+anywhere != 0 {
		t.Errorf("%d guesses with a wrong stamp count", wrong+anywhere)
	}
	hits := sweep(stamp, around, 1<<21)
	t.Logf("%d segments out, %d of them of one stamp: of 2²¹ guesses %d hit with the stamp known, 0 without; of 2³² "+
		"that is one in %.3g, and in %.3g", all, out, hits, float64(uint64(1)<<32)/float64(out), math.Pow(2, 64)/float64(all))
	if hits != int64(out) || w.s.lostOut != out {
		t.Errorf("%d guesses hit, %d segments are lost; %d are of that stamp", hits, w.s.lostOut, out)
	}
	w.s.check(t, w.now)
}

// On the path, an attacker sends a true NACK again: at once, after the retransmission, and
// after what it was about was delivered. Nothing changes. Only a NACK of the retransmission
// itself counts; within a tick of the stamps, of 1 ms, it looks like the first.
func TestNackReplay(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.limit = 0
	w.run(60 * ms)
	w.after = func() {}
	g := w.s.queue.at(w.s.queue.end - 5)
	seq, old := g.seq, trimmed(sentAs(w, g))
	replay := func(when string) {
		t.Helper()
		before, c := state(w.s), *old
		if w.s.Receive(w.now, &c); state(w.s) != before {
			t.Errorf("a replay %s counts", when)
		}
	}
	w.now += 3 * ms
	w.s.Receive(w.now, func() *packet.Packet { c := *old; return &c }())
	if w.s.counters.NacksTaken != 1 || w.s.waiting != 1 {
		t.Fatalf("%+v", w.s.counters)
	}
	replay("at once")
	for w.s.waiting > 0 && w.step(unit.Second) {
	}
	replay("after the retransmission")
	true2 := trimmed(sentAs(w, w.s.queue.at(w.s.queue.find(seq, 1448))))
	for w.s.una <= seq && w.step(unit.Second) {
	}
	replay("after the delivery")
	before := state(w.s)
	if w.s.Receive(w.now, true2); state(w.s) != before {
		t.Error("a NACK of what is delivered counts")
	}
	if c := w.s.counters; c.NacksTaken != 1 || c.NacksRefused != 4 || c.Retransmitted != 1 {
		t.Errorf("%+v", c)
	}
}

// On the path, an attacker NACKs every data packet, which is delivered all the same. That
// cannot be told from truth. What it costs: a window's reduction a round trip, no more, which
// leaves two packets (RFC 5681 equation 4), as with an ECN echo on every ACK
// (TestInjectedEchoes); and each packet goes out twice at the pace of NACKs, more often only as
// ACKs of what is new allow. It never stops the flow, and when the attack ends the flow comes back.
func TestNackOfDelivered(t *testing.T) {
	for _, name := range []string{"reno", "cubic"} {
		for _, share := range []int{1, 10, 100, 1000} {
			w := newPipe(t, name, 0, nil)
			w.run(2 * unit.Second)
			b, from, sent, again := w.r.counters.ReceivedBytes, w.now, w.s.counters.SentPackets, w.s.counters.Retransmitted
			reductions, last, n := 0, unit.Time(0), 0
			w.s.control = &noticeSpy{Controller: w.s.control, loss: func(l cc.Loss) {
				if l.Kind == cc.FastRecovery && w.s.counters.NacksTaken > 0 && w.s.lostOut > 0 {
					if w.now-last < w.s.SRTT() {
						t.Errorf("%s: reductions at %v and %v, a round trip is %v", name, last, w.now, w.s.SRTT())
					}
					last = w.now
					reductions++
				}
			}}
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 {
					if n++; n%share == 0 {
						w.inject(trimmed(p), 100*unit.Microsecond)
					}
				}
				return true, 0
			}
			w.run(12 * unit.Second)
			got := w.goodput(b, from)
			sent, again = w.s.counters.SentPackets-sent, w.s.counters.Retransmitted-again
			taken := w.s.counters.NacksTaken
			w.onData = nil
			w.run(14 * unit.Second)
			b, from = w.r.counters.ReceivedBytes, w.now
			w.run(19 * unit.Second)
			back := w.goodput(b, from)
			t.Logf("%-5s one in %4d NACKed: %5.2f Mb/s of 47.8, %d reductions in 10 s, %d NACKs taken, %d of %d packets sent "+
				"again, %d timeouts; afterwards %.1f Mb/s", name, share, got, reductions, taken, again, sent, w.s.timeouts, back)
			if floor := 2 * 1448 * 8 / 0.0125 / 1e6; got < floor*0.5 || w.s.timeouts > 0 || back < 44 || again > 4*(sent-again) {
				t.Errorf("%s, one in %d: %.2f Mb/s, %d timeouts, %d of %d sent again, afterwards %.1f Mb/s", name, share, got,
					w.s.timeouts, again, sent, back)
			}
		}
	}
}

// RFC 2883, RFC 3708: a NACK for a packet that was delivered after all. The duplicate is
// reported, and the reduction undone. What a NACK tells is no guess, so that Eifel (RFC 3522) has no
// say: ACKs of what was sent before the retransmission come all the time, and undo nothing.
func TestNackUndo(t *testing.T) {
	for _, name := range []string{"reno", "cubic"} {
		for _, delivered := range []bool{true, false} {
			w := newPipe(t, name, 0, nil)
			w.rate, w.limit = unit.Gbps, 0
			w.run(65 * ms)
			before, n := 0, 0
			undone := false
			var at unit.Time
			w.s.control = &noticeSpy{Controller: w.s.control, loss: func(l cc.Loss) {
				if l.Kind == cc.FastRecovery {
					before = int(int64(w.s.decision.Window) / 1448)
				}
				undone = undone || l.Kind == cc.Spurious
			}}
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 {
					if n++; n == 10 {
						w.inject(trimmed(p), 3*ms)
						at = w.now
						return delivered, 0
					}
				}
				return true, 0
			}
			for (at == 0 || w.now < at+6*ms) && w.step(unit.Second) {
			}
			if at == 0 || w.s.state != cc.Recovery || undone {
				t.Fatalf("%s: %v, undone %v", name, w.s.state, undone)
			}
			for w.s.state != cc.Open && w.step(unit.Second) {
			}
			w.run(w.now + 8*ms) // the duplicate may come later
			if w.s.state != cc.Open || undone != delivered || w.s.cwnd() >= before != delivered ||
				w.s.counters.Retransmitted != 1 || w.r.counters.Duplicates > 0 != delivered {
				t.Errorf("%s, delivered %v: %v, undone %v, window %d, before %d, %d sent again", name, delivered, w.s.state, undone,
					w.s.cwnd(), before, w.s.counters.Retransmitted)
			}
		}
	}
}

// With a gap in front of what a NACK tells, RACK finds its own (RFC 8985 §6.2), within the one
// reduction; in a quiet recovery what RACK finds is a loss like any other, and reduces.
func TestNackRACK(t *testing.T) {
	for mode, want := range map[string]int{transport.NacksLoss: 1, transport.NacksResend: 1} {
		w := newPipe(t, "reno", 0, func(c *Config) { c.Nacks = mode })
		w.rate, w.limit = 100*unit.Mbps, 0
		w.run(60 * ms)
		reductions := 0
		w.s.control = &noticeSpy{Controller: w.s.control, loss: func(l cc.Loss) {
			if l.Kind == cc.FastRecovery || l.Kind == cc.LossInReduction {
				reductions++
			}
		}}
		n := 0
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload > 0 {
				if n++; n == 5 { // dropped without a word
					return false, 0
				}
				if n == 8 {
					w.inject(trimmed(p), ms)
					return false, 0
				}
			}
			return true, 0
		}
		quiet := false
		w.after = func() { quiet = quiet || w.s.quiet }
		w.run(300 * ms)
		if c := w.s.counters; reductions != want || c.Retransmitted != 2 || w.r.counters.Duplicates != 0 ||
			w.s.timeouts != 0 || quiet != (mode == transport.NacksResend) {
			t.Errorf("%s: %d reductions, %d sent again, %d duplicates, %d timeouts, quiet %v", mode, reductions, c.Retransmitted,
				w.r.counters.Duplicates, w.s.timeouts, quiet)
		}
	}
}

// RFC 8985 §7: the last packets are trimmed. NACKs repair that in place of a TLP, none is sent,
// and one that was due does not go; a NACK of a TLP's own packet counts as well.
func TestNackTLP(t *testing.T) {
	w := newPipe(t, "reno", 14480, nil)
	n := 0
	w.nackDrops(4 * ms)
	w.onData = numbered(func(i int, _ *packet.Packet) bool { return i == 9 })
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			n++
		}
	}
	w.run(5 * unit.Second)
	if n != 11 || w.s.counters.Finished > 45*ms || w.s.tlpEnd >= 0 {
		t.Errorf("%d packets, finished at %v", n, w.s.counters.Finished)
	}
	// the tail is dropped without a word, its TLP trimmed
	w = newPipe(t, "reno", 14480, nil)
	i := 0
	w.onData = numbered(func(n int, p *packet.Packet) bool {
		i = n
		if n == 10 {
			w.inject(trimmed(p), ms)
		}
		return n == 9 || n == 10
	})
	w.run(5 * unit.Second)
	if c := w.s.counters; i != 11 || c.NacksTaken != 1 || w.s.timeouts != 0 || c.Finished > 300*ms || w.s.tlpEnd >= 0 {
		t.Errorf("after a TLP: %d packets, %+v, %d timeouts", i+1, c, w.s.timeouts)
	}
}

// RFC 5682 §3.1 step 3a: a NACK within F-RTO says that a loss was real; the recovery after the
// timeout goes on as usual, and all arrives. A NACK moves no RTO but by the retransmission.
func TestNackFRTO(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.rate = unit.Gbps
	w.run(100 * ms)
	hold := w.now + 500*ms
	w.onData = func(p *packet.Packet) (bool, unit.Time) { return true, max(hold-w.now, 0) }
	for w.s.timeouts == 0 && w.step(unit.Second) {
	}
	if !w.s.frto {
		t.Fatal("no F-RTO")
	}
	g := w.s.queue.at(w.s.queue.first)
	for g.flags&resent == 0 && w.step(unit.Second) {
	}
	timer := w.s.timerAt
	w.now += 2 * ms
	w.s.Receive(w.now, trimmed(sentAs(w, g)))
	w.s.check(t, w.now)
	if w.s.frto || w.s.state != cc.Timeout || w.s.timerAt != timer || w.s.counters.NacksTaken != 1 || w.s.waiting == 0 {
		t.Errorf("F-RTO %v, %v, timer %v, before %v", w.s.frto, w.s.state, w.s.timerAt, timer)
	}
	b := w.r.counters.ReceivedBytes
	w.unchecked = true
	w.run(w.now + 2*unit.Second)
	if w.s.state != cc.Open || w.s.timeouts > 1 || w.r.counters.ReceivedBytes-b < 10_000_000 {
		t.Errorf("%v, %d timeouts, %d bytes", w.s.state, w.s.timeouts, w.r.counters.ReceivedBytes-b)
	}
}

// RFC 9937: a NACK leaves the slots of what it names, into which the retransmissions go at once;
// all that is sent in the recovery, these included, is the reduction's share of what is
// delivered, and the window after it is the controller's.
func TestNackPRR(t *testing.T) {
	for name, share := range map[string]float64{"reno": 0.5, "cubic": 0.7} {
		w := newPipe(t, name, 0, func(c *Config) { c.Bursts, c.Autotuning, c.CompressedACK = false, false, 0 })
		w.rate, w.limit, w.delay = 100*unit.Mbps, 0, 25*ms
		w.run(400 * ms)
		n := 0
		w.nackDrops(2 * ms)
		w.onData = numbered(func(i int, _ *packet.Packet) bool { return i < 5 })
		for w.s.state != cc.Recovery && w.step(unit.Second) {
		}
		before, delivered := w.s.prrPrior, w.s.delivered
		w.emitted = func(p *packet.Packet) { n++ }
		for w.s.state == cc.Recovery && w.step(unit.Second) {
			if w.s.inFlight() > max(w.s.prrWindow, before) {
				t.Fatalf("%s: %d in flight, PRR allows %d", name, w.s.inFlight(), w.s.prrWindow)
			}
		}
		within(t, name+": packets sent in recovery", float64(n), float64(w.s.delivered-delivered)*share, 0.1)
		within(t, name+": window after it", float64(w.s.cwnd()), share*float64(before), 0.05)
		if w.s.counters.Retransmitted != 5 || w.s.timeouts > 0 {
			t.Errorf("%s: %d sent again", name, w.s.counters.Retransmitted)
		}
	}
}

// At most one reduction a round trip: a switch that trims every packet for 200 ms, at 1 ms from
// the sender on a path of 20 ms, has the window halved each round trip, and no more often.
func TestNackOnceARoundTrip(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.rate, w.limit, w.delay = unit.Gbps, 0, 10*ms
	w.run(110 * ms)
	var at []unit.Time
	var windows []int
	w.s.control = &noticeSpy{Controller: w.s.control, loss: func(l cc.Loss) {
		if l.Kind == cc.FastRecovery {
			at = append(at, w.now)
			windows = append(windows, int(int64(w.s.decision.Window)/w.s.mss))
		}
	}}
	w.nackDrops(ms)
	from := w.now
	w.onData = numbered(func(int, *packet.Packet) bool { return w.now < from+200*ms })
	w.run(2 * unit.Second)
	t.Log(at, windows)
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < 20*ms || windows[i] > windows[i-1]/2+1 && windows[i] > 2 && at[i] < from+200*ms {
			t.Errorf("reductions at %v, of windows %v", at, windows)
		}
	}
	if len(at) < 3 || w.s.timeouts > 0 || w.s.state != cc.Open {
		t.Errorf("%d reductions, %d timeouts, %v", len(at), w.s.timeouts, w.s.state)
	}
}

// The hold-off is ours. With a window of one packet that is trimmed again and again, a
// retransmission goes at once, and each further one srtt·2^k later, up to rto_min: no timeout
// comes. k falls by one with each ACK that delivers.
func TestNackHoldOff(t *testing.T) {
	w := newPipe(t, "reno", 1448, func(c *Config) { c.RTOMin = 200 * ms })
	blocked := true
	w.nackDrops(ms)
	w.onData = func(p *packet.Packet) (bool, unit.Time) { return p.Payload == 0 || !blocked, 0 }
	var at []unit.Time
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			at = append(at, w.now)
		}
	}
	for len(at) < 10 && w.step(5*unit.Second) {
	}
	srtt := w.s.SRTT()
	for i := 1; i < len(at); i++ {
		want := unit.Time(ms) // the NACK's way
		if i > 1 {
			want += min(srtt<<(i-2), 200*ms)
		}
		if got := at[i] - at[i-1]; got < want || got > want+50*unit.Microsecond {
			t.Errorf("transmission %d comes %v after the one before, want %v", i, got, want)
		}
	}
	if blocked = false; w.s.timeouts != 0 || w.s.holds != 8 {
		t.Errorf("%d timeouts, k = %d", w.s.timeouts, w.s.holds)
	}
	w.run(5 * unit.Second)
	if w.s.counters.Finished == unit.Never || w.s.timeouts != 0 || w.s.holds != 8 || // nine holds, one ACK
		w.s.heldUntil != 0 {
		t.Errorf("finished %v, %d timeouts, k = %d", w.s.counters.Finished != unit.Never, w.s.timeouts, w.s.holds)
	}
}

// star is a switch with one port that trims what finds no room and tells the sender, and many
// senders, who all have something for the host behind it: incast (BS'19 §2).
type star struct {
	flows     []*pipe
	trims     int
	delivered int
	last      unit.Time
}

// incast runs n senders of size bytes over links of 10 Gb/s and 5 µs, into a port with room for
// so many packets, with or without NACKs.
func incast(t *testing.T, n int, size unit.Bytes, room int, nacks bool) *star {
	const us = unit.Microsecond
	x := &star{}
	var free unit.Time
	var leaves []unit.Time
	for range n {
		w := newPipe(t, "reno", size, func(c *Config) { c.Bursts, c.DelayedACK = false, 0 })
		w.unchecked, w.limit, w.rate, w.nic, w.delay = true, 0, 10*unit.Gbps, 10*unit.Gbps, 10*us
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload == 0 {
				return true, 0
			}
			for len(leaves) > 0 && leaves[0] <= w.now {
				leaves = leaves[1:]
			}
			if len(leaves) >= room {
				x.trims++
				if nacks {
					w.inject(trimmed(p), 10*us)
				}
				return false, 0
			}
			free = max(free, w.now) + unit.TransmitTime(unit.Bytes(p.Size), 10*unit.Gbps)
			leaves = append(leaves, free)
			return true, free - w.now
		}
		x.flows = append(x.flows, w)
	}
	next := func(w *pipe) unit.Time {
		at := min(w.s.NextTimer(), w.r.NextTimer(), max(w.r.NextSend(), w.now))
		if s := w.s.NextSend(); s != unit.Never {
			at = min(at, max(s, w.nicFree, w.now))
		}
		if len(w.forward) > 0 {
			at = min(at, w.forward[0].at)
		}
		if len(w.backward) > 0 {
			at = min(at, w.backward[0].at)
		}
		return at
	}
	ats := make([]unit.Time, n)
	for i, w := range x.flows {
		ats[i] = next(w)
	}
	for range 10_000_000 {
		first := 0
		for i, at := range ats {
			if at < ats[first] {
				first = i
			}
		}
		if ats[first] > 20*unit.Second {
			break
		}
		w := x.flows[first]
		w.step(ats[first])
		ats[first] = next(w)
	}
	for _, w := range x.flows {
		x.last = max(x.last, w.s.counters.Finished)
		x.delivered += int(w.r.counters.ReceivedBytes)
	}
	return x
}

// BS'19 §2, §4.3: with NACKs incast goes without timeouts, of 200 ms here; and senders with
// windows of one packet do not storm the switch: what is trimmed is a small multiple of what is
// delivered.
func TestNackIncast(t *testing.T) {
	for _, n := range []int{8, 64, 256} {
		const size = 20_000
		x, without := incast(t, n, size, 64, true), incast(t, n, size, 64, false)
		timeouts, most := int64(0), int64(0)
		for _, w := range x.flows {
			timeouts += w.s.timeouts
			most = max(most, w.s.counters.SentPackets)
			if w.r.counters.Duplicates > 0 {
				t.Errorf("%d senders: %d duplicates", n, w.r.counters.Duplicates)
			}
		}
		packets := n * (size + 1447) / 1448
		ideal := unit.TransmitTime(unit.Bytes(n*size)*1514/1448, 10*unit.Gbps)
		t.Logf("%3d senders of %d B: last FCT %v, %v at line rate, %v without NACKs; %d packets, %d trimmed; at most %d "+
			"sent by one; %d timeouts", n, size, x.last, ideal, without.last, packets, x.trims, most, timeouts)
		if x.delivered != n*size || timeouts > 0 || x.last > 8*ideal || x.trims > 6*packets {
			t.Errorf("%d senders: %d bytes, %d timeouts, last FCT %v, %d of %d packets trimmed", n, x.delivered, timeouts,
				x.last, x.trims, packets)
		}
	}
}

// The model of TestRandomPaths, with NACKs: what the queue drops is trimmed, and its NACK comes, is
// late, comes twice, or is lost; some NACKs are about packets that arrive, or about nothing. All
// arrives, every count agrees with a recount after every step, and no packet is sent again
// more than once at the pace of NACKs.
func TestNackRandomPaths(t *testing.T) {
	taken, refused := int64(0), int64(0)
	for seed := range uint64(400) {
		random := unit.NewRandom(seed, "path")
		name := []string{"reno", "cubic", "dctcp", "bbr"}[seed%4]
		w := newPipe(t, name, unit.Bytes(1+random.IntN(600_000)), func(c *Config) {
			c.ECN, c.Bursts = random.IntN(2) == 0, random.IntN(2) == 0
			c.InitialSeq, c.InitialPeerSeq = random.Uint32(), random.Uint32()
			c.ReceiveBuffer = unit.Bytes(8192 << random.IntN(10))
			c.Nacks = []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply}[random.IntN(3)]
			c.RTOMin = []unit.Time{ms, 200 * ms}[random.IntN(2)]
		})
		loss, trim, late := random.Float64()*0.05, random.Float64()*0.5, random.Float64()*0.2
		silent, forged, twice := random.Float64()*0.3, random.Float64()*0.05, random.Float64()*0.2
		w.rate, w.limit, w.mark = unit.Rate(1+random.IntN(100))*unit.Mbps, 3+random.IntN(100), random.IntN(20)
		nack := func(p *packet.Packet, n packet.Notification) {
			if random.Float64() < silent {
				return
			}
			for range 1 + random.IntN(1+int(twice*10)) {
				later := unit.Time(random.Int64N(int64(10 * ms)))
				if random.Float64() < late {
					later *= 10
				}
				w.inject(nackOf(p, n), later)
			}
		}
		var before *packet.Packet
		about := func(p *packet.Packet) packet.Notification {
			n := packet.Notification{Cause: packet.Cause(random.IntN(2)), Lost: p.Payload, Supply: unit.Rate(random.Int64N(1e8))}
			if before != nil && random.IntN(3) == 0 {
				n.More[0] = packet.Span{Offset: int32(before.Seq - p.Seq), Lost: before.Payload}
				n.Spans = uint8(min(before.Payload, 1))
			}
			c := *p
			before = &c
			return n
		}
		w.onDrop = func(p *packet.Packet) {
			if p.Payload > 0 {
				nack(p, about(p))
			}
		}
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload > 0 {
				switch x := random.Float64(); {
				case x < forged:
					nack(p, about(p))
				case x < 2*forged:
					nack(p, packet.Notification{Cause: packet.CauseElephant + packet.Cause(random.IntN(2))})
				case x < 3*forged:
					c := *p
					c.Seq += int64(random.IntN(100)-50) * 724
					c.TCP.TSVal += uint32(random.IntN(3)) - 1
					nack(&c, packet.Notification{Cause: packet.Cause(random.IntN(int(packet.Causes))),
						Lost: int32(random.IntN(2) * 1448)})
				}
				if random.Float64() < trim*0.3 {
					return false, 0
				}
			}
			if random.Float64() < loss && p.Payload == 0 {
				return false, 0
			}
			return true, 0
		}
		w.onAck = func(*packet.Packet) (bool, unit.Time) { return random.Float64() >= loss, 0 }
		w.run(6000 * unit.Second)
		if w.s.flow.Size != w.r.counters.ReceivedBytes || w.s.counters.Finished == unit.Never {
			t.Errorf("seed %d, %s, %s: %d of %d bytes came, finished %v, %d timeouts", seed, name, w.s.config.Nacks,
				w.r.counters.ReceivedBytes, w.s.flow.Size, w.s.counters.Finished != unit.Never, w.s.timeouts)
		}
		taken, refused = taken+w.s.counters.NacksTaken, refused+w.s.counters.NacksRefused
	}
	if t.Logf("%d NACKs taken, %d refused", taken, refused); taken < 1000 || refused < 1000 {
		t.Error("too few NACKs")
	}
}

// FuzzNack sends damaged and forged notices into the middle of a transfer, about what is
// out and what is not: nothing panics, nothing but what they name is marked, the books stay right, and
// the transfer goes on.
func FuzzNack(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0x10, 0, 5, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Add([]byte(strings.Repeat("\x00\x05\x00\x00\x11\x10\x01\x05\xa8\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x05\xa8\x05\xa8\x01", 8)))
	f.Add([]byte(strings.Repeat("\x00\x07\x00\x00\x0c\x10\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80", 12)))
	f.Fuzz(anyNacks)
}

// anyNacks reads NACKs out of data: which segment, how far beside it, the stamp, length and bytes
// of the extension, and how long until the next.
func anyNacks(t *testing.T, data []byte) {
	for i, name := range []string{"reno", "cubic", "bbr"} {
		w := newPipe(t, name, 0, func(c *Config) {
			c.ECN, c.Nacks = true, []string{transport.NacksLoss, transport.NacksSupply, transport.NacksResend}[i]
		})
		w.run(60 * ms)
		b := data
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			v := int(b[0])
			b = b[1:]
			return v
		}
		for k := 0; len(b) > 0 && k < 60; k++ {
			if w.s.queue.len() == 0 {
				w.run(w.now + ms)
				continue
			}
			at := next()<<8 | next()
			g := w.s.queue.at(w.s.queue.first + uint32(at%w.s.queue.len()))
			p := sentAs(w, g)
			p.Seq += int64(int8(next()))
			p.TCP.TSVal += uint32(int8(next()))
			p = trimmed(p)
			if n := next() % 80; n > 0 {
				x := make([]byte, n)
				for j := range x {
					x[j] = byte(next())
				}
				p.SetExtension(packet.ExtNotification, x)
			}
			lostBefore, c := w.s.lostTotal, w.s.counters
			w.s.Receive(w.now, p)
			w.s.check(t, w.now)
			d := w.s.counters
			if marked := w.s.lostTotal - lostBefore; marked > 1+packet.MostSpans || marked > 0 && d.NacksTaken == c.NacksTaken ||
				d.NacksTaken+d.NacksRefused != c.NacksTaken+c.NacksRefused+1 {
				t.Fatalf("%d marked; %+v, before %+v", marked, d, c)
			}
			w.run(w.now + unit.Time(next())*ms/64)
		}
		una := w.s.una
		w.unchecked = true
		if w.run(w.now + 700*ms); w.s.una == una || w.s.inFlight() < 0 || w.s.cwnd() < 1 {
			t.Fatalf("%s stands still at %d", name, una)
		}
	}
}

// A NACK allocates nothing.
func TestNackAllocatesNothing(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.unchecked = true
	w.run(400 * ms)
	p := trimmed(sentAs(w, w.s.queue.at(w.s.queue.first)))
	n := w.s.queue.first
	if a := testing.AllocsPerRun(50, func() {
		g := w.s.queue.at(n)
		p.Seq, p.TCP.TSVal = g.seq, stampOf(g.sent)
		w.s.Receive(w.now, p)
		n++
	}); a != 0 || w.s.counters.NacksTaken < 50 {
		t.Errorf("%g allocations, %d NACKs taken", a, w.s.counters.NacksTaken)
	}
}

// The finer rules. A number within a segment is none of its own; a notice that contradicts
// itself, or comes twice, is refused; what was sent before the last reduction causes no other, however
// late its NACK comes; a pending TLP gives way to the RTO, which stays where it was; what a
// NACK has told stays lost when a timeout is undone.
func TestNackRules(t *testing.T) {
	start := func() (*pipe, *segment) {
		w := newPipe(t, "reno", 0, func(c *Config) { c.Bursts = false })
		w.run(58 * ms)
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
				More: [packet.MostSpans]packet.Span{{Lost: 1448}}})
		},
	} {
		w, g := start()
		before := state(w.s)
		if w.s.Receive(w.now, change(sentAs(w, g))); state(w.s) != before || w.s.counters.NacksRefused != 1 {
			t.Errorf("%s is taken", what)
		}
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
	w.s.control = &noticeSpy{Controller: w.s.control, loss: func(l cc.Loss) {
		if l.Kind == cc.FastRecovery {
			reductions++
		}
	}}
	if w.s.timer != lossProbe {
		t.Fatal("no TLP is due")
	}
	rto := w.s.queue.at(w.s.queue.first).sent + w.s.rto
	late := trimmed(sentAs(w, w.s.queue.at(w.s.queue.end-2)))
	w.s.Receive(w.now, trimmed(sentAs(w, g)))
	if w.s.timer != retransmission || w.s.timerAt != rto {
		t.Errorf("timer %d at %v, want the RTO at %v", w.s.timer, w.s.timerAt, rto)
	}
	w.s.Receive(w.now+3*w.s.SRTT(), late)
	if w.s.counters.NacksTaken != 2 || w.s.lostOut != 2 || reductions != 1 {
		t.Errorf("%d reductions; both packets were sent before the first", reductions)
	}
	w.s.undo(w.now, true)
	if w.s.check(t, w.now); w.s.lostOut != 2 {
		t.Errorf("after an undo %d are lost", w.s.lostOut)
	}

	// With nacks: resend a controller hears of no loss, and of no end of one.
	w = newPipe(t, "cubic", 69*1448, func(c *Config) { c.Nacks = transport.NacksResend })
	told, last := 0, ""
	w.s.control = &noticeSpy{Controller: w.s.control, notice: func(cc.Notice) { told++ }, loss: func(l cc.Loss) {
		last = l.Kind.String()
	}}
	w.nackDrops(ms)
	w.onData = numbered(func(n int, _ *packet.Packet) bool { return n == 5 || n == 30 })
	if w.run(unit.Second); told != 2 || last != "" || w.s.counters.Finished == unit.Never {
		t.Errorf("%d notices, %q", told, last)
	}
}
