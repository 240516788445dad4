package rdma

import (
	"strconv"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testutil"
)

func repeat(c *Config) { c.Recovery = SelectiveRepeat }

// Exchanges packet by packet, as text.
func TestTraces(t *testing.T) {
	for _, x := range []struct {
		name string
		size unit.Bytes
		conf func(c *Config)
		set  func(w *pipe)
		mode cc.ECNMode
	}{
		{"plain", 4500, nil, func(*pipe) {}, 0},
		{"go-back-n", 12000, nil, func(w *pipe) { w.onData = drop(2) }, 0},
		{"go-back-n-tail", 4000, nil, func(w *pipe) { w.onData = drop(3) }, 0},
		{"go-back-n-nack-lost", 12000, nil, func(w *pipe) { w.onData, w.onBack = drop(2), drop(2) }, 0},
		{"last-ack-lost", 2000, nil, func(w *pipe) { w.onBack = drop(1) }, 0},
		{"selective-repeat", 12000, repeat, func(w *pipe) { w.onData = drop(2, 4) }, 0},
		{"selective-repeat-tail", 5000, repeat, func(w *pipe) { w.onData = drop(3, 4) }, 0},
		{"selective-repeat-nack-lost", 10000, repeat, func(w *pipe) { w.onData, w.onBack = drop(2), drop(2, 3) }, 0},
		{"resent-lost", 12000, repeat, func(w *pipe) { w.onData = drop(2, 8) }, 0},
		{"coalesced", 9500, func(c *Config) { c.AckEvery, c.AckDelay = 4, 10*us }, func(*pipe) {}, 0},
		{"cnp", 6000, nil, func(w *pipe) {
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				if p.Seq == 1000 || p.Seq == 2000 {
					p.TOS |= packet.CE
				}
				return 1, 0
			}
		}, cc.CNPMode},
	} {
		w := newPipe(t, x.size, x.conf, &fixed{window: 6000, keep: true}, x.mode)
		x.set(w)
		w.log = &strings.Builder{}
		w.run(unit.Second)
		w.done(x.size)
		for _, l := range w.c.log {
			w.log.WriteString(l + "\n")
		}
		testutil.Golden(t, x.name+".txt", w.log.String())
	}
}

// HPCC §3.2: a flow starts at line rate: its first window is a BDP, 50 kB here.
func TestLineRateStart(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 20}, 0)
	if last.InitialWindow != 50 || last.NICRate != lineRate || last.BaseRTT != 4*us || last.MSS != payload ||
		last.MTU != payload+36 {
		t.Errorf("the controller is told %+v", last)
	}
	for n := range 50 {
		if w.s.NextSend() > w.now {
			t.Fatalf("packet %d has to wait", n)
		}
		w.s.Emit(0, &packet.Packet{})
	}
	newPipe(t, 0, func(c *Config) { c.Start, c.Packets = InitialWindow, 7 }, &fixed{window: 1000}, 0)
	if last.InitialWindow != 7 {
		t.Errorf("initial window %d", last.InitialWindow)
	}
}

// The window bounds the bytes in flight; one packet may always be out.
func TestWindow(t *testing.T) {
	for window, want := range map[unit.Bytes]int{1: 1, 999: 1, 1000: 1, 1999: 1, 2000: 2, 10_500: 10} {
		w := newPipe(t, 20_000, nil, &fixed{window: window}, 0)
		n := 0
		for ; w.s.NextSend() != unit.Never; n++ {
			w.s.Emit(0, &packet.Packet{})
		}
		if n != want || w.s.InFlight() != want {
			t.Errorf("window %d: %d packets go, %d in flight, want %d", window, n, w.s.InFlight(), want)
		}
	}
	// the last packet is smaller and fits
	w := newPipe(t, 2500, nil, &fixed{window: 2500}, 0)
	for range 3 {
		w.s.Emit(0, &packet.Packet{})
	}
	if w.s.InFlight() != 3 {
		t.Errorf("%d packets in flight", w.s.InFlight())
	}
}

// IRN §3.2: what is sent and not acknowledged is at most a BDP, SACKed packets included.
func TestBound(t *testing.T) {
	for _, x := range []struct {
		bound string
		bytes unit.Bytes
		want  int
	}{{BoundBDP, 0, 50}, {BoundBytes, 7999, 7}, {BoundBytes, 1, 1}, {BoundNone, 0, 1000}} {
		w := newPipe(t, 1_000_000, func(c *Config) { c.Bound, c.BoundBytes, c.Recovery = x.bound, x.bytes, SelectiveRepeat },
			&fixed{window: 1 << 40}, 0)
		n := 0
		for ; w.s.NextSend() != unit.Never; n++ {
			w.s.Emit(0, &packet.Packet{})
		}
		if n != x.want {
			t.Errorf("%s %d: %d packets, want %d", x.bound, x.bytes, n, x.want)
		}
		if n < 3 || n == 1000 {
			continue
		}
		// the second is SACKed: nothing new may go, only the first again
		w.s.Receive(us, answer(packet.Nack, 0, 1000))
		w.s.Emit(us, &packet.Packet{})
		if w.s.NextSend() != unit.Never || w.s.Counters().Retransmitted != 1 {
			t.Errorf("%s: more than the bound goes", x.bound)
		}
	}
}

// answer is what a receiver says.
func answer(kind packet.Kind, ack, about int64) *packet.Packet {
	return &packet.Packet{Kind: kind, Ack: ack, Seq: about, SrcPort: 20, DstPort: 10, Proto: packet.ProtoRDMA, Version: 4}
}

// Gaps are payload / rate, to the picosecond (HPCC simulator), rounded up.
func TestPacing(t *testing.T) {
	for rate, gap := range map[unit.Rate]unit.Time{
		100 * unit.Gbps: 80_000, unit.Gbps: 8 * us, 3 * unit.Gbps: 2_666_667, 7 * unit.Mbps: 1_142_857_143,
		99_999_999_999: 80_001,
	} {
		w := newPipe(t, 0, nil, &fixed{window: 1 << 40, rate: rate}, 0)
		var at []unit.Time
		w.emitted = func(*packet.Packet) { at = append(at, w.now) }
		w.free = unit.Time(-1)
		for len(at) < 20 {
			w.now = max(w.now, w.s.NextSend())
			w.s.Emit(w.now, &packet.Packet{})
			at = append(at, w.now)
		}
		for i := 1; i < len(at); i++ {
			if at[i]-at[i-1] != gap {
				t.Errorf("%v: gap %d is %d ps, want %d", rate, i, at[i]-at[i-1], gap)
			}
		}
	}
	// the NIC comes late: the gap counts from there
	w := newPipe(t, 0, nil, &fixed{window: 1 << 40, rate: unit.Gbps}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Emit(11*us, &packet.Packet{})
	if w.s.NextSend() != 19*us {
		t.Errorf("the third goes at %v", w.s.NextSend())
	}
	// retransmissions are paced, too
	w.s.Receive(12*us, answer(packet.Nack, 0, 0))
	if w.s.NextSend() != 19*us || w.s.plan != 0 {
		t.Errorf("packet %d goes again at %v", w.s.plan, w.s.NextSend())
	}
}

// A new rate moves the pending send, in both directions (HPCC simulator).
func TestNewRate(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 40, rate: unit.Gbps, timer: us}, 0)
	w.s.Emit(0, &packet.Packet{})
	for _, x := range []struct {
		rate unit.Rate
		want unit.Time
	}{{2 * unit.Gbps, 4 * us}, {500 * unit.Mbps, 16 * us}, {0, 0}, {unit.Gbps, 8 * us}} {
		w.c.rate, w.c.timer = x.rate, us
		w.s.decision.NextTimer = us
		w.s.Advance(us)
		if w.s.NextSend() != x.want {
			t.Errorf("at %v the next goes at %v, want %v", x.rate, w.s.NextSend(), x.want)
		}
	}
}

// HPCC simulator: at most one NACK per expected sequence and interval.
func TestNackInterval(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 40}, 0)
	data := func(n int64) *packet.Packet {
		return &packet.Packet{Seq: n * payload, Payload: payload, SrcPort: 10, DstPort: 20, Proto: packet.ProtoRDMA}
	}
	for i, x := range []struct {
		at    unit.Time
		n     int64
		reply bool
		kind  packet.Kind
	}{
		{0, 0, true, packet.Ack}, {1, 2, true, packet.Nack}, {2, 3, false, 0}, {500*us + 0, 4, false, 0},
		{500*us + 1, 5, true, packet.Nack},
		{500*us + 2, 1, true, packet.Ack}, {500*us + 3, 3, true, packet.Nack}, {500*us + 4, 1, true, packet.Ack},
	} {
		p := data(x.n)
		if got := w.r.Receive(x.at, p); got != x.reply || got && p.Kind != x.kind {
			t.Errorf("%d: packet %d at %v: %v, %s", i, x.n, x.at, got, describe(p))
		}
	}
	// a trimmed packet is asked for
	p := data(2)
	p.Payload, p.Meta.Flags = 0, packet.Trimmed
	if !w.r.Receive(2000*us, p) || p.Kind != packet.Nack || p.Ack != 2000 || p.Seq != 2000 {
		t.Errorf("a trimmed packet gives %s", describe(p))
	}
}

// IRN §3.1: only what is lost is sent again, once.
func TestSelectiveRepeat(t *testing.T) {
	w := newPipe(t, 200_000, repeat, &fixed{window: 40_000, keep: true}, 0)
	seen := map[int64]bool{}
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		n := p.Seq / payload
		first := !seen[n]
		seen[n] = true
		if first && (n == 10 || n >= 20 && n <= 22 || n == 60) {
			return 0, 0
		}
		return 1, 0
	}
	w.run(unit.Second)
	w.done(200_000)
	if c := w.s.Counters(); c.Retransmitted != 5 || w.s.Timeouts() != 0 || w.r.Counters().Duplicates != 0 {
		t.Errorf("%d sent again, %d timeouts, %d duplicates", c.Retransmitted, w.s.Timeouts(), w.r.Counters().Duplicates)
	}
	if got := w.s.lostTotal; got != 5 {
		t.Errorf("%d found lost", got)
	}
	// a trimmed first packet is sent at once
	w = newPipe(t, 5000, repeat, &fixed{window: 40_000}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(us, answer(packet.Nack, 0, 0))
	if w.s.plan != 0 || w.s.State() != cc.Recovery {
		t.Errorf("plan %d, %v", w.s.plan, w.s.State())
	}
	w.s.Emit(us, &packet.Packet{}) // once: a replay gets nothing
	w.s.Receive(2*us, answer(packet.Nack, 0, 0))
	if w.s.plan == 0 || w.s.Counters().Retransmitted != 1 {
		t.Error("a replayed NACK makes it go again")
	}
	// what gets lost while a recovery goes on is a new one when that ends
	w = newPipe(t, 10_000, repeat, &fixed{window: 40_000, keep: true}, 0)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Nack, 0, 1000))
	for range 3 {
		w.s.Emit(us, &packet.Packet{}) // 0 again, 5, 6
	}
	w.s.Receive(2*us, answer(packet.Nack, 0, 6000))
	w.s.Receive(2*us, answer(packet.Ack, 5000, 0))
	if got := strings.Join(w.c.log, ", "); w.s.State() != cc.Recovery || w.s.plan != 5 ||
		got != "1us fast-recovery, 2us recovered, 2us fast-recovery" {
		t.Errorf("%v, packet %d is next; %s", w.s.State(), w.s.plan, got)
	}
}

// IRN §3.1: RTO_low with few packets in flight; RFC 6298 §5.5: it doubles, up to the
// largest; progress sets it back.
func TestRTO(t *testing.T) {
	conf := func(c *Config) { c.RTO, c.RTOLow, c.RTOLowPackets = FixedRTO, 100*us, 3 }
	w := newPipe(t, 0, conf, &fixed{window: 5000}, 0)
	for n, want := range []unit.Time{100 * us, 100 * us, 100 * us, 320 * us, 320 * us} {
		w.s.Emit(0, &packet.Packet{})
		if w.s.NextTimer() != want {
			t.Errorf("%d in flight: timeout at %v, want %v", n+1, w.s.NextTimer(), want)
		}
	}
	w.s.Receive(10*us, answer(packet.Ack, 1000, 0))
	w.s.Emit(10*us, &packet.Packet{})
	if w.s.NextTimer() != 330*us { // it starts anew with progress
		t.Errorf("after progress: %v", w.s.NextTimer())
	}
	now, want := w.s.NextTimer(), 100*us
	for range 12 {
		w.s.Advance(now)
		w.s.Emit(now, &packet.Packet{}) // one goes again
		if want = min(2*want, 20480*us); w.s.NextTimer() != now+want {
			t.Fatalf("timeout after %v, want %v", w.s.NextTimer()-now, want)
		}
		now = w.s.NextTimer()
	}
	w.s.Receive(now, answer(packet.Ack, 2000, 1000))
	w.s.Emit(now, &packet.Packet{})
	if got := w.s.NextTimer() - now; got != 100*us {
		t.Errorf("after progress %v", got)
	}
}

// Nothing is in flight, and what is to be sent only waits for its time: no timeout.
func TestNoTimeoutWhilePaced(t *testing.T) {
	w := newPipe(t, 10_000, nil, &fixed{window: 5000, rate: unit.Mbps}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Emit(8000*us, &packet.Packet{})
	w.s.Receive(8001*us, answer(packet.Nack, 0, 0))
	if w.s.NextSend() != 16000*us || w.s.NextTimer() != unit.Never {
		t.Errorf("the next goes at %v, timeout at %v", w.s.NextSend(), w.s.NextTimer())
	}
	if w.s.Emit(16000*us, &packet.Packet{}); w.s.NextTimer() != 16320*us {
		t.Errorf("timeout at %v", w.s.NextTimer())
	}
}

// RFC 6298 §2: SRTT + 4 RTTVAR where that is above the floor; no sample of what was
// sent twice.
func TestMeasuredRTO(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.BaseRTT = 200 * us }, &fixed{window: 3000}, 0)
	w.s.Emit(0, &packet.Packet{})
	if w.s.NextTimer() != 600*us { // a base RTT counts as a sample: R + 4·R/2
		t.Errorf("before a sample: %v", w.s.NextTimer())
	}
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(400*us, answer(packet.Ack, 1000, 0))
	if w.s.SRTT() != 400*us || w.s.NextTimer() != 400*us+1200*us {
		t.Errorf("SRTT %v, timeout at %v", w.s.SRTT(), w.s.NextTimer())
	}
	w.s.Receive(480*us, answer(packet.Ack, 2000, 1000)) // 480: RTTVAR ¾·200+¼·80, SRTT ⅞·400+⅛·480
	if w.s.SRTT() != 410*us || w.s.roundTrip.Variation != 170*us {
		t.Errorf("SRTT %v, RTTVAR %v", w.s.SRTT(), w.s.roundTrip.Variation)
	}
	w.s.Emit(500*us, &packet.Packet{})
	w.s.Advance(w.s.NextTimer())
	w.s.Emit(9000*us, &packet.Packet{})
	w.s.Receive(9001*us, answer(packet.Ack, 3000, 2000))
	if w.s.SRTT() != 410*us {
		t.Errorf("SRTT %v after a sample of a retransmission", w.s.SRTT())
	}
}

// Whatever goes gets lost, for a while: the sender keeps trying, at doubling intervals,
// and finishes when the path is there again.
func TestEverythingLost(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		for _, resends := range []string{ResendFirst, ResendAll} {
			w := newPipe(t, 30_000, func(c *Config) { c.Recovery, c.Resends = recovery, resends },
				&fixed{window: 8000, keep: true}, 0)
			w.onData = func(*packet.Packet) (int, unit.Time) {
				if w.now < 5*unit.Millisecond {
					return 0, 0
				}
				return 1, 0
			}
			w.run(unit.Second)
			w.done(30_000)
			// 0.32 + 0.64 + … ms: the fourth ends after 4.8 ms, the fifth after 9.92
			if n := w.s.Timeouts(); recovery == GoBackN && n != 5 || n < 5 {
				t.Errorf("%s: %d timeouts", recovery, n)
			}
		}
	}
}

// The whole end of a flow is lost, nothing follows to show it. IRN §3.1 then needs a
// timeout a packet; resending all, or go-back-N, one.
func TestTailLoss(t *testing.T) {
	for _, x := range []struct {
		recovery, resends string
		timeouts          int64
	}{{GoBackN, ResendFirst, 1}, {SelectiveRepeat, ResendAll, 1}, {SelectiveRepeat, ResendFirst, 4}} {
		w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.Resends = x.recovery, x.resends }, &fixed{window: 20_000}, 0)
		w.onData = drop(6, 7, 8, 9)
		w.run(unit.Second)
		w.done(10_000)
		if w.s.Timeouts() != x.timeouts || w.s.Counters().Retransmitted != 4 {
			t.Errorf("%s, %s: %d timeouts, %d sent again", x.recovery, x.resends, w.s.Timeouts(), w.s.Counters().Retransmitted)
		}
	}
}

// Without recovery nothing is sent again, and packets out of order are kept.
func TestNoRecovery(t *testing.T) {
	none := func(c *Config) { c.Recovery = NoRecovery }
	w := newPipe(t, 100_000, none, &fixed{window: 20_000}, 0)
	i := 0
	w.onData = func(*packet.Packet) (int, unit.Time) { i++; return 1, unit.Time(i*7%5) * us }
	w.run(unit.Second)
	w.done(100_000)
	w = newPipe(t, 100_000, none, &fixed{window: 20_000}, 0)
	w.onData = drop(30)
	w.run(unit.Second)
	if c := w.s.Counters(); c.Finished != unit.Never || c.Retransmitted != 0 || w.r.Expected() != 30_000 {
		t.Errorf("%+v", *c)
	}
}

// ACKs of every n-th packet, at the latest after the delay, at once at the end.
func TestCoalescing(t *testing.T) {
	conf := func(c *Config) { c.AckEvery, c.AckDelay = 8, 30*us }
	w := newPipe(t, 100_000, conf, &fixed{window: 1 << 20}, 0)
	acks := 0
	w.onBack = func(*packet.Packet) (int, unit.Time) { acks++; return 1, 0 }
	w.run(unit.Second)
	w.done(100_000)
	if acks != 13 {
		t.Errorf("%d ACKs of 100 packets", acks)
	}
	// a window below n: the delay bounds the wait
	w = newPipe(t, 10_000, conf, &fixed{window: 5000, keep: true}, 0)
	w.run(unit.Second)
	w.done(10_000)
	if w.s.Timeouts() != 0 || len(w.c.acks) != 2 {
		t.Fatalf("%d timeouts, %d ACKs", w.s.Timeouts(), len(w.c.acks))
	}
	if a := w.c.acks[0]; a.Packets != 5 || !a.RTT.Delayed || a.RTT.Sample != 30*us+4*us+
		84*unit.Nanosecond-4*84*unit.Nanosecond {
		t.Errorf("the first ACK: %d packets, delayed %v, RTT %v", a.Packets, a.RTT.Delayed, a.RTT.Sample)
	}
}

// What fills a gap is acknowledged at once, however many an ACK is for.
func TestFilledGap(t *testing.T) {
	w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.AckEvery = SelectiveRepeat, 100 }, &fixed{window: 1 << 20}, 0)
	for i, x := range []struct {
		n     int64
		want  string
		reply bool
	}{{0, "", false}, {2, "nack 1000 for 2000, 50 B", true}, {1, "ack 3000 for 1000, 50 B", true}, {3, "", false}} {
		p := &packet.Packet{Seq: x.n * payload, Payload: payload, SrcPort: 10, DstPort: 20, Proto: packet.ProtoRDMA}
		if got := w.r.Receive(us, p); got != x.reply || got && describe(p) != x.want {
			t.Errorf("%d: packet %d gives %v, %s", i, x.n, got, describe(p))
		}
	}
	if w.r.NextTimer() != 21*us {
		t.Errorf("the ACK of the last waits until %v", w.r.NextTimer())
	}
}

// RFC 8257 §3.2: each ACK says whether its packets were marked; a change gives an ACK of
// what came before.
func TestEcho(t *testing.T) {
	for _, every := range []int{1, 3} {
		w := newPipe(t, 60_000, func(c *Config) { c.AckEvery = every }, &fixed{window: 1 << 20, keep: true}, cc.DCTCPMode)
		marked := 0
		w.onData = func(p *packet.Packet) (int, unit.Time) {
			if p.TOS&packet.ECN != packet.ECT0 {
				t.Fatalf("data is sent with ECN %d", p.TOS&packet.ECN)
			}
			if n := p.Seq / payload; n%7 == 0 || n >= 20 && n < 29 {
				p.TOS |= packet.CE
				marked++
			}
			return 1, 0
		}
		w.run(unit.Second)
		w.done(60_000)
		if got := w.c.acks[len(w.c.acks)-1].ECN.Delivered; got != int64(marked) {
			t.Errorf("an ACK of %d: %d marks are echoed of %d", every, got, marked)
		}
		if w.r.CNPs() != 0 {
			t.Error("CNPs were made")
		}
	}
	w := newPipe(t, 2000, nil, &fixed{window: 1 << 20}, cc.AsConfigured)
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if p.TOS&packet.ECN != packet.NotECT {
			t.Error("ECN is used")
		}
		return 1, 0
	}
	w.run(unit.Second)
}

// RFC 8257 §3.3: one reduction a window of data, however many marks; a loss in it is told
// apart. With CNPs there is none.
func TestEchoReduces(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 4000, keep: true}, cc.DCTCPMode)
	for range 4 {
		w.s.Emit(0, &packet.Packet{})
	}
	marked := func(kind packet.Kind, ack, about int64) *packet.Packet {
		p := answer(kind, ack, about)
		p.TCP.Flags = packet.ECE
		return p
	}
	w.s.Receive(us, marked(packet.Ack, 1000, 0))
	w.s.Receive(2*us, marked(packet.Ack, 2000, 1000))
	if w.s.State() != cc.Reduced {
		t.Errorf("state %v", w.s.State())
	}
	w.s.Emit(2*us, &packet.Packet{})
	w.s.Receive(3*us, marked(packet.Ack, 4000, 3000))
	w.s.Receive(4*us, marked(packet.Nack, 4000, 4000))
	want := "1us ecn-echo, 3us recovered, 3us ecn-echo, 4us loss-in-reduction"
	if got := strings.Join(w.c.log, ", "); got != want || w.s.State() != cc.Recovery {
		t.Errorf("%v: %s, want %s", w.s.State(), got, want)
	}
	w = newPipe(t, 0, nil, &fixed{window: 4000, keep: true}, cc.CNPMode)
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(us, marked(packet.Ack, 1000, 0))
	if len(w.c.log) > 0 || !w.c.acks[0].ECN.Echo {
		t.Errorf("%v, echo %v", w.c.log, w.c.acks[0].ECN.Echo)
	}
}

// DCQCN §3.1: at most one CNP of a flow in 50 µs, at once with the first mark.
func TestCNP(t *testing.T) {
	w := newPipe(t, 10_000_000, nil, &fixed{window: 50_000}, cc.CNPMode)
	var at []unit.Time
	w.onData = func(p *packet.Packet) (int, unit.Time) { p.TOS |= packet.CE; return 1, 0 }
	w.onBack = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Notice {
			at = append(at, w.now)
			if p.Size != 50 || p.TOS&packet.ECN != 0 {
				t.Errorf("a CNP of %d bytes, ECN %d", p.Size, p.TOS&3)
			}
		}
		return 1, 0
	}
	w.run(unit.Second)
	w.done(10_000_000)
	end := w.r.Counters().Finished
	for i := 1; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap < 50*us || gap > 50*us+100*unit.Nanosecond {
			t.Errorf("CNPs %v apart", gap)
		}
	}
	if want := int(end/(50*us)) - 1; len(at) < want || w.c.notices != len(at) {
		t.Errorf("%d CNPs in %v, %d came to the controller", len(at), end, w.c.notices)
	}
}

// Notices are checked (draft-miao §9.1): the flow is known, the packet out, and it is no
// replay; what fails changes nothing.
func TestNotices(t *testing.T) {
	w := newPipe(t, 50_000, repeat, &fixed{window: 10_000}, cc.CNPMode)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Ack, 1000, 0))
	w.s.Receive(us, answer(packet.Nack, 1000, 3000))
	for _, x := range []struct {
		seq  int64
		port uint16
		want int
	}{
		// acknowledged, never sent, no packet, SACKed
		{0, 20, 0}, {5000, 20, 0}, {-1000, 20, 0}, {1500, 20, 0}, {1 << 39, 20, 0}, {3000, 20, 0},
		{2000, 21, 0}, {2000, 20, 1}, {2000, 20, 1}, {4000, 20, 2},
	} {
		p := answer(packet.Notice, 0, x.seq)
		p.SrcPort = x.port
		w.s.Receive(2*us, p)
		if w.c.notices != x.want || int(w.s.Notices()) != x.want {
			t.Errorf("a notice for %d: %d have come through, want %d", x.seq, w.c.notices, x.want)
		}
	}
	w.s.Emit(3*us, &packet.Packet{}) // 1000 and 2000 go again, and can be marked again
	w.s.Emit(3*us, &packet.Packet{})
	w.s.Receive(4*us, answer(packet.Notice, 0, 2000))
	if w.c.notices != 3 {
		t.Errorf("%d notices", w.c.notices)
	}
}

// Acknowledgements that cannot be change nothing: of bytes never sent, of no packet's
// end, of another flow, replays.
func TestForged(t *testing.T) {
	w := newPipe(t, 50_000, repeat, &fixed{window: 10_000}, 0)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Nack, 1000, 3000))
	before, losses := *w.s, w.c.losses
	ring := append([]sent(nil), w.s.ring...)
	other := answer(packet.Ack, 4000, 3000)
	other.DstPort++
	tcp := answer(packet.Ack, 4000, 3000)
	tcp.Proto = packet.ProtoTCP
	for _, p := range []*packet.Packet{answer(packet.Ack, 6000, 0), answer(packet.Ack, 1<<39, 0), answer(packet.Ack, -1000,
		0), answer(packet.Ack, 2500, 2000),
		answer(packet.Nack, 1000, 3000), answer(packet.Nack, 0, 3000), answer(packet.Ack, 1000, 0), answer(packet.Nack, 1000,
			5000), answer(packet.Data, 4000, 0), other, tcp} {
		w.s.Receive(2*us, p)
		after := *w.s
		after.counters, after.report = before.counters, before.report
		after.ring = nil
		b := before
		b.ring = nil
		if !same(&after, &b) || w.c.losses != losses {
			t.Errorf("%s changes the sender:\n%+v\n%+v", describe(p), after, b)
		}
		for i := range ring {
			if ring[i] != w.s.ring[i] {
				t.Errorf("%s changes packet %d", describe(p), i)
			}
		}
	}
	// and to the receiver: no packet's start, wrong length, too far ahead
	for _, p := range []*packet.Packet{{Seq: 10, Payload: payload}, {Seq: 1000, Payload: 999},
		{Seq: 50_000, Payload: payload}, {Seq: -1000, Payload: payload}, {Seq: 0, Payload: payload, Kind: packet.Ack}} {
		p.SrcPort, p.DstPort, p.Proto = 10, 20, packet.ProtoRDMA
		if w.r.Receive(0, p) || w.r.Expected() != 0 || w.r.NextSend() != unit.Never {
			t.Errorf("the receiver takes %s", describe(p))
		}
	}
}

func same(a, b *Sender) bool {
	return a.una == b.una && a.next == b.next && a.top == b.top && a.plan == b.plan && a.planAt == b.planAt &&
		a.sackedOut == b.sackedOut &&
		a.goneOut == b.goneOut && a.state == b.state && a.delivered == b.delivered && a.roundTrip == b.roundTrip &&
		a.timerAt == b.timerAt && a.lostTotal == b.lostTotal
}

// HPCC §4.1: the ACK carries the data's telemetry back, and counts its bytes; a delayed
// one has the newest; CNPs have none.
func TestTelemetryEcho(t *testing.T) {
	for _, x := range []struct {
		every, asked int
		mode         cc.ECNMode
	}{{1, 1, 0}, {4, 1, 0}, {100, 1, 0}, {1, 1, cc.CNPMode}, {3, 1, cc.CNPMode}, {1, 3, 0}, {4, 3, 0}, {100, 3, 0}} {
		w := newPipe(t, 20_000, func(c *Config) {
			c.AckEvery = x.every
			if x.asked > 1 {
				c.Telemetry = transport.Asking{When: transport.AskPackets, Packets: x.asked}
			}
		}, &fixed{window: 6000, want: telemetry.HopRecords}, x.mode)
		newest, asked := int64(-1), 0
		w.onData = func(p *packet.Packet) (int, unit.Time) {
			if hpcc.Wants(p) != 0 {
				asked++
				if p.Size != 50+48+int32(p.Payload) { // 2 + 2 + 42, padded
					t.Errorf("%s: %d bytes", describe(p), p.Size)
				}
				if (p.Seq/payload)%int64(x.asked) != 0 {
					t.Errorf("%s asks for telemetry", describe(p))
				}
				hpcc.Push(p, &telemetry.Hop{Switch: 7, Rate: lineRate, Queue: unit.Bytes(80 * p.Seq / payload)})
			}
			if x.mode != 0 && p.Seq%4000 == 0 {
				p.TOS |= packet.CE
			}
			return 1, 0
		}
		w.onBack = func(p *packet.Packet) (int, unit.Time) {
			var r telemetry.Records
			what, _ := hpcc.Read(p, &r)
			switch want := 50 + p.ExtensionBytes(); {
			case p.Kind == packet.Notice && p.Extended():
				t.Error("a CNP has telemetry")
			case p.Size != want || hpcc.Wants(p) != 0:
				t.Errorf("%s: %d bytes, want %d, asks for %d", describe(p), p.Size, want, hpcc.Wants(p))
			case what != telemetry.Recorded:
				if x.every == 1 && x.asked == 1 && p.Kind != packet.Notice {
					t.Errorf("%s has no telemetry", describe(p))
				}
			case r.Len() != 1 || r.Path() != 7:
				t.Errorf("%s: %+v", describe(p), r.Hops())
			default:
				newest = int64(r.At(0).Queue) / 80
				if x.every == 1 && newest != p.Seq/payload {
					t.Errorf("%s has the telemetry of packet %d", describe(p), newest)
				}
			}
			return 1, 0
		}
		seen := 0
		w.c.onAck = func(_ unit.Time, a *cc.Ack) {
			if len(a.Telemetry.Hops) == 0 {
				return
			}
			seen++
			if n := int64(a.Telemetry.Hops[0].Queue) / 80; n < a.Una/payload-int64(x.asked) || n > a.Una/payload ||
				a.Seq < (n+1)*payload || a.Telemetry.Path != 7 {
				t.Errorf("the controller gets telemetry of packet %d with %d acknowledged, Seq %d", n, a.Una, a.Seq)
			}
		}
		w.run(unit.Second)
		w.done(20_000)
		if seen == 0 || newest < 20-int64(x.asked) || asked != (20+x.asked-1)/x.asked {
			t.Errorf("%+v: %d ACKs, the last telemetry is of packet %d, %d asked", x, seen, newest, asked)
		}
	}
	// the HPCC simulator's framing: 90 bytes beside the payload, ACKs of 60
	framing, _ := packet.FramingByName("hpcc")
	f := flow(2000, &fixed{window: 6000, timer: unit.Never, want: telemetry.HopRecords}, 0)
	f.Framing = framing
	s, r, err := New(f, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	p := &packet.Packet{Src: 1, Dst: 2}
	if s.Emit(0, p); p.Size != 1090 {
		t.Errorf("data of %d bytes", p.Size)
	}
	if !r.Receive(us, p) || p.Size != 60 || p.Src != 2 || p.Dst != 1 {
		t.Errorf("an ACK of %d bytes from %d to %d", p.Size, p.Src, p.Dst)
	}
}

// At a full link the delivery-rate samples are the link's, one packet in 84 ns.
func TestDeliveryRate(t *testing.T) {
	w := newPipe(t, 1_000_000, nil, &fixed{window: 200_000, keep: true}, 0)
	w.run(unit.Second)
	w.done(1_000_000)
	n := 0
	for i, a := range w.c.acks {
		if i < 300 || i > 700 || a.Delivery.Packets == 0 {
			continue
		}
		n++
		if per := float64(a.Delivery.Interval) / float64(a.Delivery.Packets); per < 83_000 || per > 85_000 {
			t.Errorf("ACK %d: %d packets in %v", i, a.Delivery.Packets, a.Delivery.Interval)
		}
		if a.RTT.Sample != 4*us+84*unit.Nanosecond || a.RTT.Min != a.RTT.Sample || a.Packets != 1 || a.Bytes != payload {
			t.Errorf("ACK %d: %+v", i, a)
		}
	}
	if n < 300 {
		t.Errorf("%d samples", n)
	}
}

// After Stop nothing new is sent; what is out is still repaired.
func TestStop(t *testing.T) {
	f := flow(0, &fixed{window: 5000, timer: unit.Never}, 0)
	f.Start, f.Stop = 10*us, 100*us
	s, r, err := New(f, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if s.NextSend() != 10*us {
		t.Errorf("it starts at %v", s.NextSend())
	}
	w := &pipe{t: t, s: s, r: r, c: &fixed{window: 5000}}
	w.emitted = func(p *packet.Packet) {
		if w.now >= 100*us && p.Seq >= w.s.seq(w.s.top-1) && w.s.Counters().Retransmitted == 0 {
			t.Errorf("new data at %v", w.now)
		}
	}
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if w.now > 97*us && w.now < 100*us {
			return 0, 0
		}
		return 1, 0
	}
	w.run(unit.Second)
	if w.s.una != w.s.top || w.s.top == 0 || w.s.Counters().Finished != unit.Never {
		t.Errorf("%d of %d acknowledged, finished %v", w.s.una, w.s.top, w.s.Counters().Finished)
	}
}

// RFC 2474 §4.2.2: without a DSCP of its own a flow carries its class as class selector,
// and so do its ACKs, unless they go first; with one it keeps it, and its class is what that selects.
func TestClassSelector(t *testing.T) {
	for _, x := range []struct {
		tos, class uint8
		first      bool
		ackTOS     int
		data, ack  uint8 // DSCP
		nic        uint8 // class
	}{
		{0, 0, false, -1, 0, 0, 0}, {0, 3, false, -1, 24, 24, 3}, {2, 3, false, -1, 24, 24, 3}, {0, 3, true, -1, 24, 0, 3},
		{26 << 2, 3, false, -1, 26, 26, 3}, {26 << 2, 0, false, -1, 26, 26, 3}, {8, 0, false, -1, 2, 2, 0},
		{0, 3, false, 46 << 2, 24, 46, 3},
	} {
		c := Defaults()
		c.Class, c.AckPriority, c.AckTOS = x.class, x.first, x.ackTOS
		f := flow(5000, &fixed{window: 1000, timer: unit.Never}, 0)
		f.TOS = x.tos
		s, r, err := New(f, c)
		if err != nil {
			t.Fatal(err)
		}
		var p packet.Packet
		s.Emit(0, &p)
		data := p.TOS >> 2
		if !r.Receive(1, &p) || data != x.data || p.TOS>>2 != x.ack || s.Class() != x.nic || r.Class() != x.nic && !x.first {
			t.Errorf("%+v: DSCP of data %d, of ACKs %d, class %d and %d", x, data, p.TOS>>2, s.Class(), r.Class())
		}
	}
}

func TestClasses(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.Class = 3 }, &fixed{window: 1000}, 0)
	if w.s.Class() != 3 || w.r.Class() != 3 {
		t.Error("class 3 was asked for")
	}
	w = newPipe(t, 0, func(c *Config) { c.Class, c.AckPriority = 3, true }, &fixed{window: 1000}, 0)
	if w.s.Class() != 3 || w.r.Class() != 0 {
		t.Error("ACKs of class 0 were asked for")
	}
	w = newPipe(t, 0, func(c *Config) { c.AckTOS = 0xb9 }, &fixed{window: 1000}, 0)
	p := &packet.Packet{}
	if w.s.Emit(0, p); p.TOS != 0 || !w.r.Receive(us, p) || p.TOS != 0xb8 { // but for ECN's bits
		t.Errorf("an ACK with TOS %#x", p.TOS)
	}
}

// Configurations that cannot be are refused, by the scheme as by New.
func TestRefused(t *testing.T) {
	for i, change := range []func(c *Config){
		func(c *Config) { c.Recovery = "x" }, func(c *Config) { c.ECN = "" }, func(c *Config) { c.LineRate = -1 },
		func(c *Config) { c.BaseRTT = -1 },
		func(c *Config) { c.Bound = BoundBytes }, func(c *Config) { c.AckEvery = 0 }, func(c *Config) { c.RTOMax = us },
		func(c *Config) { c.RTOLow = unit.Second },
		func(c *Config) { c.Class = 8 }, func(c *Config) { c.AckTOS = 256 }, func(c *Config) { c.NackInterval = 0 },
	} {
		c := Defaults()
		change(&c)
		if _, _, err := New(flow(1000, &fixed{}, 0), c); err == nil || !strings.HasPrefix(err.Error(), "transport rdma: ") {
			t.Errorf("%d: %v", i, err)
		}
	}
	f := flow(1000, &fixed{}, 0)
	f.Path.NICRate = 0
	if _, _, err := New(f, Defaults()); err == nil {
		t.Error("a line-rate start without a line rate")
	}
	f.CC = nil
	if _, _, err := New(f, Config{}); err == nil {
		t.Error("no controller")
	}
	v := map[string]any{}
	for _, p := range Scheme().Params {
		var x any
		var err error
		switch p.Kind {
		case scheme.Text:
			x = p.Default
		case scheme.Bool:
			x = p.Default == "true"
		case scheme.Int:
			x, err = strconv.Atoi(p.Default)
		case scheme.Packets:
			var l unit.Length
			l, err = unit.ParseLength(p.Default)
			x = int(l.Packets)
		case scheme.Duration:
			x, err = unit.ParseTime(p.Default)
		case scheme.Rate:
			x, err = unit.ParseRate(p.Default)
		case scheme.Size:
			x, err = unit.ParseBytes(p.Default)
		}
		if v[p.Name] = x; x == nil || err != nil {
			t.Fatalf("%s: %v, %v", p.Name, x, err)
		}
	}
	s, _, err := Scheme().Build(flow(1000, &fixed{}, 0), scheme.NewValues("rdma", v))
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.LineRate, want.BaseRTT, want.ECN = lineRate, 4*us, ECNOff
	if got := s.(*Sender).config; got != want {
		t.Errorf("the scheme's defaults are %+v, Defaults' are %+v", got, want)
	}
}

// A packet and its ACK cost no allocation.
func BenchmarkRoundTrip(b *testing.B) {
	w := newPipe(b, 0, nil, &fixed{window: 50_000}, cc.DCTCPMode)
	b.ReportAllocs()
	var pool packet.Pool
	now := unit.Time(0)
	for range b.N {
		p := pool.Get()
		p.Src, p.Dst, p.Sent = 1, 2, now
		w.s.Emit(now, p)
		now += us
		w.r.Receive(now, p)
		w.s.Receive(now, p)
		pool.Put(p)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		w := newPipe(t, 0, func(c *Config) { c.Recovery = recovery }, &fixed{window: 50_000}, cc.CNPMode)
		var pool packet.Pool
		now := unit.Time(0)
		trip := func() {
			p := pool.Get()
			p.Src, p.Dst, p.Sent = 1, 2, now
			w.s.Emit(now, p)
			now += us
			p.TOS |= packet.CE
			w.r.Receive(now, p)
			w.s.Receive(now, p)
			for w.r.NextSend() <= now {
				*p = packet.Packet{}
				w.r.Emit(now, p)
				w.s.Receive(now, p)
			}
			pool.Put(p)
		}
		for range 100 {
			trip()
		}
		if n := testing.AllocsPerRun(1000, trip); n != 0 {
			t.Errorf("%s: %v allocations a round trip", recovery, n)
		}
		if w.s.una != w.s.top || w.s.Notices() == 0 {
			t.Errorf("%s: %d of %d acknowledged, %d notices", recovery, w.s.una, w.s.top, w.s.Notices())
		}
	}
}

// draft-miao §6.1, guideline 4: probes of the flow's 5-tuple, one a round trip while
// something is out, answered by the receiver; data asks for nothing. Their telemetry is
// of a packet behind all that was sent.
func TestProbes(t *testing.T) {
	w := newPipe(t, 100_000, func(c *Config) { c.Telemetry.When = transport.AskProbe },
		&fixed{window: 6000, want: telemetry.HopRecords}, 0)
	probes, answers := 0, 0
	var last unit.Time
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind != packet.Probe {
			if p.Extended() {
				t.Errorf("%s asks", describe(p))
			}
			return 1, 0
		}
		probes++
		if p.SrcPort != 10 || p.DstPort != 20 || p.Proto != packet.ProtoRDMA || p.Payload != 0 || p.Size != 98 ||
			hpcc.Wants(p) != telemetry.WantsRecord {
			t.Errorf("%+v", p)
		}
		if probes > 2 && w.now-last < 4*us { // the first is before there is an RTT
			t.Errorf("probes at %v and %v", last, w.now)
		}
		last = w.now
		hpcc.Push(p, &telemetry.Hop{Rate: lineRate, Switch: 3})
		return 1, 0
	}
	w.onBack = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Probe {
			answers++
		}
		return 1, 0
	}
	seen := 0
	w.c.onAck = func(_ unit.Time, a *cc.Ack) {
		if a.Telemetry.Hops != nil {
			seen++
			if a.Packets != 0 || a.Telemetry.Path != 3 || a.Seq <= a.Una || a.Seq > a.Next+1 {
				t.Errorf("%+v", a)
			}
		}
	}
	w.run(unit.Second)
	w.done(100_000)
	if probes < 15 || probes > 30 || answers != probes || seen < probes-2 {
		t.Errorf("%d probes, %d answers, %d seen", probes, answers, seen)
	}
}
