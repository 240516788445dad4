package udp

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// nackOf is what a switch makes of a datagram that it has trimmed (BS'19 §4.3).
func nackOf(p *packet.Packet, cause packet.Cause, more ...packet.Span) *packet.Packet {
	n := packet.Notification{Cause: cause, Supply: unit.Gbps, Spans: uint8(len(more))}
	if cause == packet.CauseTrimmed || cause == packet.CauseReclaimed {
		n.Lost = p.Payload
	}
	copy(n.More[:], more)
	q := *p
	q.ClearExtensions()
	q.SwapEnds()
	q.Kind, q.Payload = packet.Nack, 0
	q.SetNotification(&n)
	return &q
}

// sent returns a flow of datagrams. As many of them are in flight as the window has room for.
func sent(t *testing.T, window, size unit.Bytes, nacks string) (*line, []*packet.Packet) {
	l := newLine(t, &fixed{window: window}, size, func(_ *transport.Flow, c *ControlledConfig) { c.Nacks = nacks })
	var out []*packet.Packet
	for l.s.NextSend() <= 0 {
		p := &packet.Packet{Src: 1, Dst: 2}
		l.s.Emit(0, p)
		out = append(out, p)
	}
	return l, out
}

func state(l *line) string {
	s := *l.s
	notices := []uint8{}
	for n := s.done; n < s.next; n++ {
		notices = append(notices, *s.noticed.At(n))
	}
	s.counters, s.report, s.requester = transport.Counters{}, cc.Ack{}, transport.TelemetryRequester{}
	s.control.Controller, s.noticed = nil, transport.Ring[uint8]{}
	return fmt.Sprintf("%+v %v %v %v", s, notices, l.c.told, l.c.losses)
}

// TestControlledNackChecks checks that a NACK counts once, if it is of this flow, readable, and about a complete
// datagram in flight. Any other changes no state.
func TestControlledNackChecks(t *testing.T) {
	l, out := sent(t, 10_000, 50_000, transport.NacksResend)
	l.s.recordNotice(9, 0) // there is a ring
	change := func(f func(p *packet.Packet)) *packet.Packet {
		p := nackOf(out[4], packet.CauseTrimmed)
		f(p)
		return p
	}
	taken, refused := int64(0), int64(0)
	for _, x := range []struct {
		what string
		p    *packet.Packet
		want bool
	}{
		{"never sent", change(func(p *packet.Packet) { p.Seq = 10 }), false},
		{"negative", change(func(p *packet.Packet) { p.Seq = -1 << 63 }), false},
		{"another source port", change(func(p *packet.Packet) { p.SrcPort++ }), false},
		{"another destination port", change(func(p *packet.Packet) { p.DstPort++ }), false},
		{"another protocol", change(func(p *packet.Packet) { p.Proto = packet.ProtoRDMA }), false},
		{"a part", change(func(p *packet.Packet) { p.SetNotification(&packet.Notification{Lost: 999}) }), false},
		{"damaged", change(func(p *packet.Packet) { p.SetExtension(packet.ExtNotification, []byte{1}) }), false},
		{"an elephant that lost something", change(func(p *packet.Packet) {
			p.SetNotification(&packet.Notification{Cause: packet.CauseElephant, Lost: 1000})
		}), false},
		{"elephant", nackOf(out[4], packet.CauseElephant), true},
		{"elephant again", nackOf(out[4], packet.CauseElephant), false},
		{"good", nackOf(out[4], packet.CauseTrimmed), true},
		{"again", nackOf(out[4], packet.CauseTrimmed), false},
		{"two more, and one again", nackOf(out[6], packet.CauseReclaimed, packet.Span{Offset: -2, Lost: 1000},
			packet.Span{Offset: 1, Lost: 1000}, packet.Span{Offset: 2, Lost: 1}), true},
		{"one of them", nackOf(out[7], packet.CauseTrimmed), false},
	} {
		before := state(l)
		if l.s.Receive(us, x.p); x.want {
			taken++
		} else if refused++; state(l) != before {
			t.Errorf("%s: it changes the sender:\n%s\n%s", x.what, before, state(l))
		}
		if c := l.s.Counters(); c.NacksTaken != taken || c.NacksRefused != refused {
			t.Fatalf("%s: %d taken, %d refused, want %d and %d", x.what, c.NacksTaken, c.NacksRefused, taken, refused)
		}
	}
	if l.s.inFlight() != 7 || l.s.lost != 3 || len(l.c.losses) != 0 || len(l.c.told) != 3 || l.c.told[2].Lost != 2000 ||
		l.c.told[0].Supply != unit.Gbps {
		t.Errorf("%d in flight, %d lost, %v, %v", l.s.inFlight(), l.s.lost, l.c.told, l.c.losses)
	}
}

// TestControlledNackReactions checks the effects of NACKs by cause and parameter. They reduce once a round trip; no
// datagram is resent.
func TestControlledNackReactions(t *testing.T) {
	for _, x := range []struct {
		nacks  string
		cause  packet.Cause
		told   int
		losses int
		kind   cc.LossKind
		flight int64
	}{
		{transport.NacksIgnored, packet.CauseTrimmed, 0, 0, 0, 10}, {transport.NacksIgnored, packet.CauseElephant, 0, 0, 0,
			10}, {transport.NacksIgnored, packet.CauseMarked, 3, 0, 0, 10},
		{transport.NacksResend, packet.CauseTrimmed, 3, 0, 0, 7}, {transport.NacksResend, packet.CauseElephant, 3, 0, 0, 10},
		{transport.NacksLoss, packet.CauseTrimmed, 3, 2, cc.FastRecovery, 7}, {transport.NacksLoss, packet.CauseReclaimed, 3,
			2, cc.FastRecovery, 7},
		{transport.NacksLoss, packet.CauseElephant, 3, 1, cc.Warned, 10}, {transport.NacksLoss, packet.CauseMarked,
			3, 0, 0, 10},
		{transport.NacksSupply, packet.CauseTrimmed, 0, 0, 0, 7}, // cc/supply takes the notices
	} {
		t.Run(fmt.Sprint(x.nacks, " ", x.cause), func(t *testing.T) {
			l, out := sent(t, 10_000, 50_000, x.nacks)
			for i, at := range []unit.Time{us, 19 * us, 21 * us} { // a round trip is 20 µs
				l.s.Receive(at, nackOf(out[3+i], x.cause))
			}
			if len(l.c.told) != x.told || len(l.c.losses) != x.losses || x.losses > 0 && l.c.losses[0].Kind != x.kind ||
				l.s.inFlight() != x.flight || l.s.Counters().Retransmitted != 0 {
				t.Errorf("%s, %v: %v, %v, %d in flight", x.nacks, x.cause, l.c.told, l.c.losses, l.s.inFlight())
			}
			if rate := l.s.Gauge().Rate; rate > unit.Gbps || (rate > 0) != (x.nacks == transport.NacksSupply) {
				t.Errorf("%s, %v: a rate of %v, the supply is 1Gbps", x.nacks, x.cause, rate)
			}
			for _, n := range l.c.told {
				if (n.Kind == cc.CNPNotice) != (x.cause == packet.CauseMarked) {
					t.Errorf("%s, %v: %+v", x.nacks, x.cause, n)
				}
			}
		})
	}
}

// TestControlledNacksOnPath checks a flow over a path that trims every seventh datagram, the last among them, and sends
// NACKs. Each is counted lost once, the reports show no further loss, and no timer expires. The flow ends when the last
// datagram has left the flight. Without NACKs the last waits for a timeout.
func TestControlledNacksOnPath(t *testing.T) {
	for nacks, wait := range map[string]bool{transport.NacksLoss: false, transport.NacksResend: false,
		transport.NacksIgnored: true} {
		t.Run(nacks, func(t *testing.T) {
			const n = 700
			l := newLine(t, &fixed{window: 20_000}, n*1000, func(_ *transport.Flow, c *ControlledConfig) { c.Nacks = nacks })
			var due []*packet.Packet
			l.lose = func(p *packet.Packet, back bool) bool {
				if back || p.Seq%7 != 6 {
					return false
				}
				q := *p
				due = append(due, &q)
				return true
			}
			for l.now < 100*unit.Millisecond && l.s.Counters().Finished == unit.Never {
				l.runUntil(l.now + us)
				l.now += us
				for _, p := range due {
					l.s.Receive(l.now, nackOf(p, packet.CauseTrimmed))
				}
				due = due[:0]
			}
			timeouts := 0
			for _, x := range l.c.losses {
				if x.Kind == cc.RetransmissionTimeout {
					timeouts++
				}
			}
			c := l.s.Counters()
			if c.Finished == unit.Never || c.SentPackets != n || l.s.lost+l.s.writtenOff != n/7 || l.s.inFlight() != 0 ||
				(timeouts > 0) != wait {
				t.Errorf("%s: finished at %v, %d sent, %d lost and %d written off, %d timeouts", nacks, c.Finished, c.SentPackets,
					l.s.lost, l.s.writtenOff, timeouts)
			}
			if nacks == transport.NacksResend && len(l.c.losses) > 0 {
				t.Errorf("reports show losses that NACKs have told: %v", l.c.losses)
			}
		})
	}
}

// FuzzControlledNack checks that counts are right for any order of sends, NACKs of anything, and reports.
func FuzzControlledNack(f *testing.F) {
	f.Add([]byte{0, 20, 1, 3, 1, 4, 2, 5, 0, 20, 1, 5, 3, 0})
	f.Add([]byte{0, 200, 1, 0, 1, 1, 1, 199, 2, 100, 0, 200, 4, 0, 1, 7})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 1000 {
			return
		}
		c := &fixed{window: 300_000}
		l := newLine(t, c, 500_000, nil)
		s, now := l.s, unit.Time(0)
		var reports []*packet.Packet
		for i := 0; i+1 < len(script); i += 2 {
			n := int64(script[i+1])
			now += unit.Time(n)
			switch script[i] % 5 {
			case 0:
				for ; n > 0 && s.NextSend() <= now; n-- {
					p := &packet.Packet{Src: 1, Dst: 2, Sent: now}
					s.Emit(now, p)
					if n%3 > 0 && l.r.Receive(now, p) {
						reports = append(reports, p)
					}
				}
			case 1:
				p := &packet.Packet{Seq: s.done + n - 20, SrcPort: 10, DstPort: 20, Proto: packet.ProtoUDP, Payload: 1000}
				s.Receive(now, nackOf(p, packet.Cause(n%4), packet.Span{Offset: int32(n % 9), Lost: 1000}))
			case 2:
				if len(reports) > 0 {
					s.Receive(now, reports[n%int64(len(reports))])
				}
			case 3:
				if at := s.NextTimer(); at != unit.Never {
					now = max(now, at)
					s.Advance(now)
				}
			default:
				c.window = unit.Bytes(1000 + n*2000)
			}
			gone := int64(0)
			for n := s.done; n < s.next && s.noticed.Len() > 0; n++ {
				if *s.noticed.At(n)&nacked != 0 {
					gone++
				}
			}
			if gone != s.nacked || s.inFlight() < 0 || s.done > s.next || s.lost < 0 || s.lost+s.writtenOff > s.next {
				t.Fatalf("counted %d gone, noted %d; %d in flight, %d of %d done, %d lost", gone, s.nacked, s.inFlight(), s.done,
					s.next, s.lost)
			}
		}
	})
}

// TestControlledNackStorm checks that a sender with only trimmed datagrams does not continue at the pace of NACKs, one
// a microsecond, under any controller. Each datagram waits for twice the previous time, at most for a timeout.
func TestControlledNackStorm(t *testing.T) {
	l, out := sent(t, 10_000, 50_000_000, transport.NacksResend)
	const span = 100 * unit.Millisecond
	notice := func(now unit.Time, p *packet.Packet) {
		q := nackOf(p, packet.CauseTrimmed)
		q.SetNotification(&packet.Notification{Lost: p.Payload})
		l.s.Receive(now, q)
	}
	for _, p := range out {
		notice(unit.Microsecond, p)
	}
	datagrams, now := len(out), unit.Microsecond
	for ; datagrams < 10_000; datagrams++ {
		if now = max(now, l.s.NextSend()); now > span {
			break
		}
		p := &packet.Packet{Src: 1, Dst: 2}
		l.s.Emit(now, p)
		now += unit.Microsecond
		notice(now, p)
	}
	if most := len(out) + 20 + int(span/l.s.timer.Timeout()); datagrams > most || datagrams < most/4 {
		t.Errorf("%d datagrams in %v, at most %d may be", datagrams, unit.Time(span), most)
	}
}
