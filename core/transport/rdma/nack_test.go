package rdma

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

// nackOf returns the NACK that a switch makes of data packet p that it has trimmed, or for another cause (BS'19 §4.3:
// endpoints swapped, a flag, no payload).
func nackOf(p *packet.Packet, cause packet.Cause, more ...packet.Span) *packet.Packet {
	n := packet.Notification{Cause: cause, Supply: 10 * unit.Gbps, Demand: 20 * unit.Gbps, Spans: uint8(len(more))}
	if cause == packet.CauseTrimmed || cause == packet.CauseReclaimed {
		n.Lost = p.Payload
	}
	copy(n.More[:], more)
	q := *p
	q.ClearExtensions()
	q.SwapEnds()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&n)
	q.Size = packet.Framings[0].FrameBytes(50+q.ExtensionBytes(), 0, false)
	return &q
}

// trims makes a hook for data packets: those with these numbers of transmission, counted
// over all from 0, are trimmed, and their NACK is back after 1 µs.
func (w *pipe) trims(cause packet.Cause, numbers ...int) func(*packet.Packet) (int, unit.Time) {
	lose := drop(numbers...)
	return func(p *packet.Packet) (int, unit.Time) {
		copies, later := lose(p)
		if copies == 0 {
			w.nack(nackOf(p, cause))
		}
		return copies, later
	}
}

// nack makes a NACK arrive 1 µs from now.
func (w *pipe) nack(p *packet.Packet) { insert(&w.back, flight{w.now + us, p}) }

// TestNackTraces checks, packet by packet as text, that exactly the named packets are resent, at once, however the
// receiver treats packets out of order.
func TestNackTraces(t *testing.T) {
	for _, x := range []struct {
		name     string
		recovery string
		trim     []int
	}{
		{"nack-selective-repeat", SelectiveRepeat, []int{2, 4}},
		{"nack-go-back-n", GoBackN, []int{2, 4}},
		{"nack-none", NoRecovery, []int{2, 4}},
		{"nack-again", SelectiveRepeat, []int{2, 6, 8}}, // the packet sent again is trimmed as well
		{"nack-tail", SelectiveRepeat, []int{11}},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newPipe(t, 12_000, func(c *Config) { c.Recovery = x.recovery }, &fixed{window: 6000, keep: true}, 0)
			w.onData = w.trims(packet.CauseTrimmed, x.trim...)
			w.log = &strings.Builder{}
			inner := w.s
			w.runUntil(unit.Second)
			w.done(12_000)
			if inner.Timeouts() > 0 || x.recovery != GoBackN && int(inner.Counters().Retransmitted) != len(x.trim) {
				t.Errorf("%s: %d timeouts, %d packets sent again", x.name, inner.Timeouts(), inner.Counters().Retransmitted)
			}
			for _, l := range w.c.log {
				w.log.WriteString(l + "\n")
			}
			testkit.Golden(t, x.name+".txt", w.log.String())
		})
	}
}

// out5 returns a flow of 50 packets with a window of five. Five were sent, and the first was acknowledged.
func out5(t testing.TB, recovery, nacks string) (*pipe, []*packet.Packet) {
	w := newPipe(t, 50_000, func(c *Config) { c.Recovery, c.Nacks = recovery, nacks }, &fixed{window: 5000, keep: true}, 0)
	var sent []*packet.Packet
	for range 5 {
		p := &packet.Packet{Src: 1, Dst: 2}
		w.s.Emit(0, p)
		sent = append(sent, p)
	}
	w.s.Receive(us, answer(packet.Ack, 1000, 0))
	return w, sent
}

// records returns copies of the records of all outstanding packets.
func records(s *Sender) (all []sent) {
	for n := s.una; n < s.top; n++ {
		all = append(all, *s.packetState(n))
	}
	return all
}

// snapshot is all of a sender that a notice could change, but what it counts.
func snapshot(w *pipe) string {
	s := *w.s
	ring := records(&s)
	s.counters, s.report, s.requester = transport.Counters{}, cc.Ack{}, transport.TelemetryRequester{}
	s.ring, s.control.Controller = transport.Ring[sent]{}, nil
	return fmt.Sprintf("%+v %+v %+v %v", s, ring, w.c.told, w.c.log)
}

// TestNackChecks checks that a NACK counts once, if it is of this flow, readable, and about the last transmission of a
// complete packet in flight. Any other NACK is counted and changes no state.
func TestNackChecks(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		t.Run(recovery, func(t *testing.T) {
			w, out := out5(t, recovery, transport.NacksResend)
			if recovery == SelectiveRepeat {
				w.s.Receive(us, answer(packet.Nack, 1000, 3000))
			}
			change := func(n int, f func(p *packet.Packet)) *packet.Packet {
				p := nackOf(out[n], packet.CauseTrimmed)
				f(p)
				return p
			}
			notify := func(x packet.Notification) func(p *packet.Packet) {
				return func(p *packet.Packet) { p.SetNotification(&x) }
			}
			taken, refused := int64(0), int64(0)
			for _, x := range []struct {
				what string
				p    *packet.Packet
				want bool
			}{
				{"acknowledged", nackOf(out[0], packet.CauseTrimmed), false},
				{"never sent", change(4, func(p *packet.Packet) { p.Seq = 6 }), false},
				{"before the flow", change(4, func(p *packet.Packet) { p.Seq = -1 }), false},
				{"another source port", change(4, func(p *packet.Packet) { p.SrcPort++ }), false},
				{"another destination port", change(4, func(p *packet.Packet) { p.DstPort++ }), false},
				{"another protocol", change(4, func(p *packet.Packet) { p.Proto = packet.ProtoUDP }), false},
				{"another transmission", change(4, func(p *packet.Packet) { p.Ack = 1 }), false},
				{"the same, mod 128", change(4, func(p *packet.Packet) { p.Ack = 128 }), false},
				{"a part of the packet", change(4, notify(packet.Notification{Lost: 999})), false},
				{"nothing", change(4, notify(packet.Notification{})), false},
				{"an elephant that lost something", change(4, notify(packet.Notification{Cause: packet.CauseElephant, Lost: 1000})),
					false},
				{"damaged", change(4, func(p *packet.Packet) { p.SetExtension(packet.ExtNotification, []byte{1, 2, 3}) }), false},
				{"SACKed", nackOf(out[3], packet.CauseTrimmed), recovery != SelectiveRepeat},
				{"good", change(4, func(p *packet.Packet) { p.Meta.Flags = packet.Trimmed | packet.Internal }), true},
				{"again", nackOf(out[4], packet.CauseTrimmed), false},
				{"again, reclaimed", nackOf(out[4], packet.CauseReclaimed), false},
				{"reclaimed", nackOf(out[2], packet.CauseReclaimed), true},
				{"an elephant", nackOf(out[1], packet.CauseElephant), true},
				{"an elephant, again", nackOf(out[1], packet.CauseElephant), false},
			} {
				before := snapshot(w)
				if w.s.Receive(2*us, x.p); x.want {
					taken++
				} else if refused++; snapshot(w) != before {
					t.Errorf("%s, %s: it changes the sender:\n%s\n%s", recovery, x.what, before, snapshot(w))
				}
				if c := w.s.Counters(); c.NacksTaken != taken || c.NacksRefused != refused {
					t.Fatalf("%s, %s: %d taken, %d refused, want %d and %d", recovery, x.what, c.NacksTaken, c.NacksRefused,
						taken, refused)
				}
				w.check()
			}
			for _, n := range w.c.told {
				if n.Kind != cc.NackNotice || n.Lost != 1000 && n.Seq != 1000 || n.Supply != 10*unit.Gbps ||
					n.Demand != 20*unit.Gbps {
					t.Errorf("%s: the controller is told %+v", recovery, n)
				}
			}
		})
	}
}

// TestNackReactions checks the effects of NACKs by cause, parameter and recovery: the next packets, the losses and the
// notices that the controller receives. A sender that ignores NACKs counts none.
func TestNackReactions(t *testing.T) {
	var b strings.Builder
	for _, nacks := range []string{transport.NacksIgnored, transport.NacksResend, transport.NacksLoss,
		transport.NacksSupply} {
		for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
			for _, cause := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant} {
				w, out := out5(t, recovery, nacks)
				w.s.Receive(2*us, nackOf(out[2], cause, map[bool][]packet.Span{true: {{Offset: 2, Lost: 1000},
					{Offset: 1, Lost: 999}, {Offset: -2, Lost: 1000}}}[cause != packet.CauseElephant]...))
				fmt.Fprintf(&b, "%-7s %-16s %-10s sends", nacks, recovery, cause)
				for w.s.NextSend() <= 2*us {
					p := &packet.Packet{}
					w.s.Emit(2*us, p)
					fmt.Fprintf(&b, " %d.%d", p.Seq, p.Ack)
				}
				c, g := w.s.Counters(), w.s.Gauge()
				fmt.Fprintf(&b, "; %v, taken %d, refused %d, lost %d; window %d, rate %v; %v", w.s.control.State, c.NacksTaken,
					c.NacksRefused, w.s.lostTotal, int64(g.Window), g.Rate, w.c.log)
				for _, n := range w.c.told {
					fmt.Fprintf(&b, "; notice of %d, %d lost, %v of %v", n.Seq, n.Lost, n.Supply, n.Demand)
				}
				b.WriteString("\n")
				w.check()
			}
		}
	}
	testkit.Golden(t, "nack-reactions.txt", b.String())
}

// TestSwitchCNP checks that a switch's CNP, with or without a notification, is handled like a receiver's for every
// value of nacks. It must be about the first transmission of a packet in flight, and resends no packet. A CNP that
// reports a loss, or is damaged, changes no state.
func TestSwitchCNP(t *testing.T) {
	for _, nacks := range []string{transport.NacksIgnored, transport.NacksLoss} {
		t.Run(nacks, func(t *testing.T) {
			w, out := out5(t, SelectiveRepeat, nacks)
			notice := func(p *packet.Packet) *packet.Packet { p.Kind = packet.Notice; return p }
			damaged := notice(nackOf(out[4], packet.CauseMarked))
			damaged.SetExtension(packet.ExtNotification, []byte{9})
			for i, x := range []struct {
				p    *packet.Packet
				want int
			}{
				{nackOf(out[0], packet.CauseMarked), 0}, {notice(nackOf(out[0], packet.CauseMarked)), 0}, // acknowledged
				{nackOf(out[1], packet.CauseMarked), 1}, {notice(nackOf(out[1], packet.CauseMarked)), 1},
				{answer(packet.Notice, 0, 1000), 1},
				{notice(nackOf(out[2], packet.CauseMarked)), 2}, {answer(packet.Notice, 0, 2000), 2},
				{answer(packet.Notice, 0, 3000), 3}, {nackOf(out[3], packet.CauseMarked), 3},
				{notice(nackOf(out[4], packet.CauseTrimmed)), 3}, {damaged, 3},
			} {
				before := snapshot(w)
				w.s.Receive(2*us, x.p)
				if len(w.c.told) != x.want || w.s.Notices() != int64(x.want) || w.c.losses > 0 || int(w.s.inFlight()) != 4 {
					t.Errorf("%s, %d: %d CNPs have come through, want %d", nacks, i, len(w.c.told), x.want)
				}
				if x.want == 3 && i > 7 && snapshot(w) != before {
					t.Errorf("%s, %d: it changes the sender", nacks, i)
				}
			}
			for _, n := range w.c.told {
				if n.Kind != cc.CNPNotice {
					t.Errorf("%s: the controller is told %+v", nacks, n)
				}
			}
			if c := w.s.Counters(); c.NacksTaken+c.NacksRefused != 0 {
				t.Errorf("%s: %d NACKs, %d refused", nacks, c.NacksTaken, c.NacksRefused)
			}
		})
	}
}

// TestTransmissionNumbers checks that retransmissions carry their number, mod 256, and first transmissions 0, also on
// the wire. A NACK of the previous transmission is late, and refused.
func TestTransmissionNumbers(t *testing.T) {
	w, out := out5(t, SelectiveRepeat, transport.NacksResend)
	book := packet.NewBook()
	src, dst := book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{}), book.Add(netip.MustParseAddr("10.0.0.2"),
		netip.Addr{})
	w.c.window = 20_000
	old := out[2]
	now := 2 * us
	for i := 1; i <= 300; i++ {
		now += us
		w.s.Receive(now, nackOf(old, packet.CauseTrimmed))
		p := &packet.Packet{Src: src, Dst: dst}
		w.s.Emit(now, p)
		if p.Seq != 2 || p.Ack != int64(i%128) {
			t.Fatalf("retransmission %d: %s, number %d", i, describe(p), p.Ack)
		}
		frame, err := p.Emit(book, nil)
		if err != nil {
			t.Fatal(err)
		}
		var q packet.Packet
		if err := q.Parse(book, frame); err != nil || q.Ack != p.Ack {
			t.Fatalf("number %d on the wire: %d, %v", p.Ack, q.Ack, err)
		}
		before := snapshot(w)
		if w.s.Receive(now, nackOf(old, packet.CauseTrimmed)); snapshot(w) != before {
			t.Fatalf("retransmission %d: a NACK of the one before changes the sender", i)
		}
		old = p
	}
	if c := w.s.Counters(); c.Retransmitted != 300 || c.NacksTaken != 300 || c.NacksRefused != 300 {
		t.Errorf("%+v", c)
	}
}

// TestNackOncePerRoundTrip checks that the controller reduces once per round trip for any number of NACKs, also of
// retransmissions: at 0, 4, 8, … µs here. With nacks: resend it never reduces. Other causes count: a timeout, or a loss
// that SACKs show.
func TestNackOncePerRoundTrip(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		t.Run(recovery, func(t *testing.T) {
			for nacks, want := range map[string]int{transport.NacksResend: 0, transport.NacksLoss: 25} {
				w := newPipe(t, 50_000, func(c *Config) { c.Recovery, c.Nacks = recovery, nacks }, &fixed{window: 5000, keep: true},
					0)
				p := &packet.Packet{}
				for now := unit.Time(0); now < 100*us; now += us / 4 {
					w.s.Emit(now, p)
					w.s.Receive(now, nackOf(p, packet.CauseTrimmed))
					w.check()
				}
				if c := w.s.Counters(); w.c.losses != want || c.NacksTaken != 400 || c.Retransmitted != 399 ||
					len(w.c.told) != 400 {
					t.Errorf("%s, %s: %d reductions, want %d; %d NACKs, %d packets sent again", recovery, nacks, w.c.losses, want,
						c.NacksTaken, c.Retransmitted)
				}
			}
		})
	}
	w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
	w.s.Receive(2*us, answer(packet.Nack, 1000, 3000)) // the second and third are lost
	w.s.Receive(2*us+us/2, nackOf(out[4], packet.CauseTrimmed))
	if len(w.c.log) != 1 {
		t.Errorf("reductions: %v", w.c.log)
	}
	w, out = out5(t, SelectiveRepeat, transport.NacksLoss)
	w.s.Advance(w.s.NextTimer())
	w.s.Receive(w.now+500*us, nackOf(out[3], packet.CauseTrimmed)) // it was sent before the timeout
	w.s.packetState(4).sentAt = w.now + 499*us
	w.s.Receive(w.now+500*us, nackOf(out[4], packet.CauseTrimmed))
	if w.s.Timeouts() != 1 || len(w.c.log) != 2 || w.s.control.State != cc.Recovery {
		t.Errorf("%d timeouts, %v, %v", w.s.Timeouts(), w.c.log, w.s.control.State)
	}
}

// TestNackStates checks that a NACK during a reduction for a mark is a loss within it. An elephant flow that is reduced
// for any cause is not reduced for being an elephant.
func TestNackStates(t *testing.T) {
	w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
	w.c.onLoss = func(l cc.Loss) {
		if l.Kind != cc.Recovered {
			w.c.window--
		}
	}
	for i, x := range []struct {
		at    unit.Time
		n     int
		cause packet.Cause
		sent  bool // just before, not at 0 as the others
		want  string
	}{
		{2 * us, 1, packet.CauseElephant, false, "[2us warned]"},
		{2*us + 1, 2, packet.CauseElephant, false, "[2us warned]"},
		{2*us + 2, 2, packet.CauseTrimmed, true, "[2us warned]"}, // less than a round trip later
		{20 * us, 3, packet.CauseElephant, true, "[2us warned]"},
		{20 * us, 3, packet.CauseTrimmed, true, "[2us warned 20us loss-in-reduction]"},
		{40 * us, 1, packet.CauseTrimmed, false, "[2us warned 20us loss-in-reduction]"}, // sent before the last reduction
		{40 * us, 4, packet.CauseElephant, true, "[2us warned 20us loss-in-reduction]"},
		{40 * us, 4, packet.CauseTrimmed, true, "[2us warned 20us loss-in-reduction 40us fast-recovery]"},
	} {
		if x.sent {
			w.s.packetState(int64(x.n)).sentAt = x.at
		}
		if w.s.Receive(x.at, nackOf(out[x.n], x.cause)); fmt.Sprint(w.c.log) != x.want ||
			w.s.Counters().NacksTaken != int64(i+1) {
			t.Errorf("%d: %v, %d NACKs, want %s", i, w.c.log, w.s.Counters().NacksTaken, x.want)
		}
	}
}

// TestNack_ElephantWithoutReductionReportsLoss checks a controller that does not respond to an elephant's NACK, such as
// DCTCP without marks: it is notified of losses within the round trip.
func TestNack_ElephantWithoutReductionReportsLoss(t *testing.T) {
	for moves, want := range map[bool]string{true: "[2us warned]", false: "[2us warned 2.5us loss-in-reduction]"} {
		w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
		w.c.onLoss = func(cc.Loss) {
			if moves {
				w.c.window--
			}
		}
		w.s.Receive(2*us, nackOf(out[1], packet.CauseElephant))
		w.s.packetState(2).sentAt = 2 * us
		if w.s.Receive(2*us+us/2, nackOf(out[2], packet.CauseTrimmed)); fmt.Sprint(w.c.log) != want {
			t.Errorf("the controller moves %t: %v, want %s", moves, w.c.log, want)
		}
	}
}

// TestNackGoBackN checks go-back-N, where the network's NACK arrives before the receiver's. The receiver's NACK
// requests packets that are then in flight, so they are resent once. If the retransmission is lost silently, the
// receiver's next NACK repairs it.
func TestNackGoBackN(t *testing.T) {
	for again, want := range map[bool]int64{false: 4, true: 8} {
		w := newPipe(t, 12_000, func(c *Config) { c.NackInterval = 20 * us }, &fixed{window: 6000, keep: true}, 0)
		n := 0
		w.onData = func(p *packet.Packet) (int, unit.Time) {
			if p.Seq != 2 {
				return 1, 0
			}
			if n++; n == 1 {
				w.nack(nackOf(p, packet.CauseTrimmed))
			}
			return map[bool]int{false: 1, true: 0}[n == 1 || n == 2 && again], 0
		}
		w.runUntil(unit.Second)
		w.done(12_000)
		if c := w.s.Counters(); c.Retransmitted < 4 || !again && c.Retransmitted != want || w.r.nacks == 0 || !again &&
			w.s.Timeouts() > 0 {
			t.Errorf("lost again %t: %d packets sent again, %d NACKs of the receiver, %d timeouts", again, c.Retransmitted,
				w.r.nacks, w.s.Timeouts())
		}
	}
}

// TestNackHold checks that a sender without deliveries waits for about 4, 8, 16, … µs, with a round trip of 4 µs, up to
// a retransmission timeout. Alternatively it waits for the time of a packet at the offered rate, 0.8 µs here, and then
// a round trip. Deliveries end the waits gradually.
func TestNackHold(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		t.Run(recovery, func(t *testing.T) {
			for _, supply := range []unit.Rate{0, 10 * unit.Gbps} {
				w := newPipe(t, 50_000, func(c *Config) { c.Recovery = recovery }, &fixed{window: 1999}, 0)
				now, p := unit.Time(0), &packet.Packet{}
				for i := range 12 {
					w.s.Emit(now, p)
					q := nackOf(p, packet.CauseTrimmed)
					q.SetNotification(&packet.Notification{Lost: p.Payload, Supply: supply})
					w.s.Receive(now, q)
					least, most := min(4*us<<i, 320*us)/2, min(4*us<<i, 320*us)*3/2
					if supply > 0 {
						least, most = 2*us, 8*us
					}
					if at := w.s.NextSend() - now; at < least || at > most {
						t.Errorf("supply %v, NACK %d: it waits for %v, want %v to %v", supply, i, at, least, most)
					}
					now = w.s.NextSend()
				}
				acks := 0
				for ; acks < 40 && w.s.hold.NextSend() > 0; acks++ {
					w.s.Emit(now, p)
					now += 4 * us
					w.s.Receive(now, answer(packet.Ack, 1000*int64(acks+1), 1000*int64(acks)))
					now = max(now, w.s.NextSend())
				}
				if acks < 4 || acks > 25 {
					t.Errorf("supply %v: %d acknowledgements end the wait", supply, acks)
				}
			}
		})
	}
}

// TestNackNoAllocation checks that NACKs, and the packets that they cause, allocate no memory.
func TestNackNoAllocation(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		t.Run(recovery, func(t *testing.T) {
			w, out := out5(t, recovery, transport.NacksLoss)
			w.c.keep = false
			nack, elephant, p := nackOf(out[2], packet.CauseTrimmed, packet.Span{Offset: 1, Lost: 1000}),
				nackOf(out[2], packet.CauseElephant), &packet.Packet{}
			now := 2 * us
			if n := testing.AllocsPerRun(1000, func() {
				now += unit.Millisecond
				w.s.Receive(now, elephant)
				w.s.Receive(now, nack)
				w.s.Receive(now, nack)
				for w.s.NextSend() <= now+unit.Millisecond/2 {
					w.s.Emit(max(now, w.s.NextSend()), p)
				}
				nack.Ack, elephant.Ack = (nack.Ack+1)&127, (nack.Ack+1)&127
			}); n > 0 {
				t.Errorf("%s: %v allocations", recovery, n)
			}
			if c := w.s.Counters(); c.NacksTaken < 2000 || c.NacksRefused < 1000 {
				t.Errorf("%s: %d NACKs taken, %d refused", recovery, c.NacksTaken, c.NacksRefused)
			}
		})
	}
}
