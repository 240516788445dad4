package rdma

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

func repeat(c *Config) { c.Recovery = SelectiveRepeat }

// TestRDMA_MatchesTraces compares exchanges packet by packet, as text.
func TestRDMA_MatchesTraces(t *testing.T) {
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
		{"reordered", 12000, reorder(reorderAdaptive, 0), func(w *pipe) {
			w.onData = func(p *packet.Packet) (int, unit.Time) { // 1 is late, 2 too late, 3 lost
				switch first := w.s.Counters().Retransmitted == 0; {
				case p.Seq == 1:
					return 1, us / 2
				case p.Seq == 2 && first:
					return 1, 3 * us
				case p.Seq == 3 && first:
					return 0, 0
				}
				return 1, 0
			}
		}, 0},
		{"resent-lost", 12000, repeat, func(w *pipe) { w.onData = drop(2, 8) }, 0},
		{"coalesced", 9500, func(c *Config) { c.AckEvery, c.AckDelay = 4, 10*us }, func(*pipe) {}, 0},
		{"cnp", 6000, nil, func(w *pipe) {
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				if p.Seq == 1 || p.Seq == 2 {
					p.TOS |= packet.CE
				}
				return 1, 0
			}
		}, cc.CNPMode},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newPipe(t, x.size, x.conf, &fixed{window: 6000, keep: true}, x.mode)
			x.set(w)
			w.log = &strings.Builder{}
			w.runUntil(unit.Second)
			w.done(x.size)
			for _, l := range w.c.log {
				w.log.WriteString(l + "\n")
			}
			testkit.Golden(t, x.name+".txt", w.log.String())
		})
	}
}

// TestLineRateStart follows HPCC §3.2: a flow starts at line rate: its first window is a BDP, 50 kB here.
func TestLineRateStart(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 20}, 0)
	if last.InitialWindow != 50 || last.NICRate != lineRate || last.BaseRTT != 4*us || last.MSS != payload ||
		last.MTU != payload+20+8+12+4 {
		t.Errorf("the controller is told %+v", last)
	}
	for n := range 50 {
		if w.s.NextSend() > w.now {
			t.Fatalf("packet %d has to wait", n)
		}
		w.s.Emit(0, &packet.Packet{})
	}
	newPipe(t, 0, func(c *Config) { c.Start, c.Packets = startAtInitialWindow, 7 }, &fixed{window: 1000}, 0)
	if last.InitialWindow != 7 {
		t.Errorf("initial window %d", last.InitialWindow)
	}
}

// TestSender_WindowLimitsFlight checks that the window bounds the bytes in flight. One packet may always be in flight.
func TestSender_WindowLimitsFlight(t *testing.T) {
	for window, want := range map[unit.Bytes]int{1: 1, 999: 1, 1000: 1, 1999: 1, 2000: 2, 10_500: 10} {
		w := newPipe(t, 20_000, nil, &fixed{window: window}, 0)
		n := 0
		for ; w.s.NextSend() != unit.Never; n++ {
			w.s.Emit(0, &packet.Packet{})
		}
		if n != want || int(w.s.inFlight()) != want {
			t.Errorf("window %d: %d packets go, %d in flight, want %d", window, n, int(w.s.inFlight()), want)
		}
	}
	// the last packet is smaller and fits
	w := newPipe(t, 2500, nil, &fixed{window: 2500}, 0)
	for range 3 {
		w.s.Emit(0, &packet.Packet{})
	}
	if int(w.s.inFlight()) != 3 {
		t.Errorf("%d packets in flight", int(w.s.inFlight()))
	}
}

// TestWindowTest follows the HPCC simulator, rdma-queue-pair.cc IsWinBound: a packet goes while the flight is below the
// window, so it may exceed the window by less than a packet. The same holds for bounds. With three packets that is a
// third.
func TestWindowTest(t *testing.T) {
	for _, x := range []struct {
		window, bound unit.Bytes
		fits, below   int
	}{{1, 0, 1, 1}, {1000, 0, 1, 1}, {1001, 0, 1, 2}, {2999, 0, 2, 3}, {3000, 0, 3, 3}, {3001, 0, 3, 4},
		{3072, 0, 3, 4}, {1 << 40, 3072, 3, 4}, {1 << 40, 3000, 3, 3}, {2500, 3072, 2, 3}, {1 << 40, 1, 1, 1}} {
		for test, want := range map[string]int{wholePacket: x.fits, begunPacket: x.below} {
			t.Run(fmt.Sprint(x.window, " ", x.bound, " ", test), func(t *testing.T) {
				w := newPipe(t, 20_000, func(c *Config) {
					if c.WindowTest = test; x.bound > 0 {
						c.Bound, c.BoundBytes = boundBytes, x.bound
					}
				}, &fixed{window: x.window}, 0)
				for w.s.NextSend() != unit.Never {
					w.s.Emit(0, &packet.Packet{})
				}
				if n := int(w.s.inFlight()); n != want {
					t.Errorf("%d packets in flight, want %d", n, want)
				}
				// An acknowledgement makes room for one, and the flow ends.
				w.s.Receive(us, answer(packet.Ack, 1000, 1000))
				w.s.Emit(us, &packet.Packet{})
				if n := int(w.s.inFlight()); n != want {
					t.Errorf("%d packets in flight after an ACK, want %d", n, want)
				}
			})
		}
	}
	w := newPipe(t, 9500, func(c *Config) { c.WindowTest = begunPacket }, &fixed{window: 2500}, 0)
	w.runUntil(unit.Second)
	w.done(9500)
}

// TestSender_BoundLimitsUnacknowledged checks IRN §3.2: the sent and unacknowledged bytes are at most a BDP, SACKed
// packets included.
func TestSender_BoundLimitsUnacknowledged(t *testing.T) {
	for _, x := range []struct {
		bound string
		bytes unit.Bytes
		want  int
	}{{boundBDP, 0, 50}, {boundBytes, 7999, 7}, {boundBytes, 1, 1}, {boundNone, 0, 1000}} {
		t.Run(fmt.Sprint(x.bound, " ", x.bytes), func(t *testing.T) {
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
				return
			}
			// the second is SACKed: no new packet may be sent, only the first again
			w.s.Receive(us, answer(packet.Nack, 0, 1000))
			w.s.Emit(us, &packet.Packet{})
			if w.s.NextSend() != unit.Never || w.s.Counters().Retransmitted != 1 {
				t.Errorf("%s: more than the bound goes", x.bound)
			}
		})
	}
}

// answer returns a receiver's answer about the packets that begin at these bytes.
func answer(kind packet.Kind, ack, about int64) *packet.Packet {
	return &packet.Packet{Kind: kind, Ack: ack / payload, Seq: about / payload, SrcPort: 20, DstPort: 10,
		Proto: packet.ProtoRDMA, Version: 4}
}

// TestSender_PacesPayloadAtRate checks that gaps are payload / rate, to the picosecond (HPCC simulator), rounded up.
func TestSender_PacesPayloadAtRate(t *testing.T) {
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
	// the NIC is late: the gap counts from there
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

// TestWithoutPacing checks that without pacing packets go as fast as the NIC takes them (HPCC simulator: RATE_BOUND 0).
func TestWithoutPacing(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.Pacing = false }, &fixed{window: 5000, rate: unit.Mbps}, 0)
	for n := range 5 {
		if w.s.NextSend() > 0 {
			t.Fatalf("packet %d goes at %v", n, w.s.NextSend())
		}
		w.s.Emit(0, &packet.Packet{})
	}
	if w.s.NextSend() != unit.Never {
		t.Error("the window does not hold")
	}
}

// TestNewRateWaits checks that with new_rate: next a new rate applies from the packet after the waiting one on, as in
// the simulator's DCQCN, TIMELY and DCTCP.
func TestNewRateWaits(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.Keeps = true }, &fixed{window: 1 << 40, rate: unit.Gbps, timer: us}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.c.rate = 2 * unit.Gbps
	if w.s.Advance(us); w.s.NextSend() != 8*us {
		t.Errorf("the second goes at %v, at the old rate's 8us", w.s.NextSend())
	}
	if w.s.Emit(8*us, &packet.Packet{}); w.s.NextSend() != 12*us {
		t.Errorf("the third goes at %v, at the new rate's 12us", w.s.NextSend())
	}
}

// TestNewRate checks that a new rate moves the pending send, in both directions (HPCC simulator).
func TestNewRate(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 40, rate: unit.Gbps, timer: us}, 0)
	w.s.Emit(0, &packet.Packet{})
	for i, x := range []struct {
		rate unit.Rate
		want unit.Time
	}{{2 * unit.Gbps, 4 * us}, {500 * unit.Mbps, 16 * us}, {0, 0}, {unit.Gbps, 8 * us}} {
		w.c.rate, w.c.timer = x.rate, us
		w.s.control.Decision.NextTimer = us
		w.s.Advance(us)
		if w.s.NextSend() != x.want {
			t.Errorf("step %d: at %v the next goes at %v, want %v", i, x.rate, w.s.NextSend(), x.want)
		}
	}
}

// TestSender_StopSendsNoNewData checks that after Stop no new data is sent. Packets in flight are still repaired.
func TestSender_StopSendsNoNewData(t *testing.T) {
	f := newFlow(0, &fixed{window: 5000, timer: unit.Never}, 0)
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
		if p.Kind == packet.Data && w.now >= 100*us && p.Seq >= w.s.top-1 && w.s.Counters().Retransmitted == 0 {
			t.Errorf("new data at %v", w.now)
		}
	}
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if w.now > 97*us && w.now < 100*us {
			return 0, 0
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	if w.s.una != w.s.top || w.s.top == 0 || w.s.Counters().Finished != unit.Never {
		t.Errorf("%d of %d acknowledged, finished %v", w.s.una, w.s.top, w.s.Counters().Finished)
	}
}

// TestClassSelector checks RFC 2474 §4.2.2: a flow without a DSCP carries its class as class selector, and so do its
// ACKs unless they go first. A flow with a DSCP keeps it, and the DSCP selects its class.
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
		t.Run(fmt.Sprintf("TOS %d, class %d, ACKs first %v, ACK TOS %d", x.tos, x.class, x.first, x.ackTOS),
			func(t *testing.T) {
				c := Defaults()
				c.Class, c.AckPriority, c.AckTOS = int(x.class), x.first, x.ackTOS
				f := newFlow(5000, &fixed{window: 1000, timer: unit.Never}, 0)
				f.TOS = x.tos
				s, r, err := New(f, c)
				if err != nil {
					t.Fatal(err)
				}
				var p packet.Packet
				s.Emit(0, &p)
				data := p.TOS >> 2
				if !r.Receive(1, &p) || data != x.data || p.TOS>>2 != x.ack || s.Class() != x.nic || r.Class() != x.nic &&
					!x.first {
					t.Errorf("%+v: DSCP of data %d, of ACKs %d, class %d and %d", x, data, p.TOS>>2, s.Class(), r.Class())
				}
			})
	}
}

func TestConfig_SetsClassesAndTOS(t *testing.T) {
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

// TestConfig_RejectsBadValues checks that impossible configurations are refused.
func TestConfig_RejectsBadValues(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"recovery":      func(c *Config) { c.Recovery = "x" },
		"ecn":           func(c *Config) { c.ECN = "" },
		"line_rate":     func(c *Config) { c.LineRate = -1 },
		"base_rtt":      func(c *Config) { c.BaseRTT = -1 },
		"bound_bytes":   func(c *Config) { c.Bound = boundBytes },
		"ack_every":     func(c *Config) { c.AckEvery = 0 },
		"rto_max":       func(c *Config) { c.RTOMax = us },
		"rto_low":       func(c *Config) { c.RTOLow = unit.Second },
		"class":         func(c *Config) { c.Class = 8 },
		"ack_tos":       func(c *Config) { c.AckTOS = 256 },
		"nack_interval": func(c *Config) { c.NackInterval = 0 },
		"nacks":         func(c *Config) { c.Nacks = "" },
	} {
		t.Run(name, func(t *testing.T) {
			c := Defaults()
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Error(err)
			}
		})
	}
	f := newFlow(1000, &fixed{}, 0)
	f.Path.NICRate = 0
	if _, _, err := New(f, Defaults()); err == nil {
		t.Error("a line-rate start without a line rate")
	}
	f.CC = nil
	if _, _, err := New(f, Config{}); err == nil {
		t.Error("no controller")
	}
}

// TestDefaultsOfFlow checks that values that the configuration omits are the flow's.
func TestDefaultsOfFlow(t *testing.T) {
	s, _, err := Scheme().Build(newFlow(1000, &fixed{}, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.LineRate, want.BaseRTT, want.AckDelay, want.ECN = lineRate, 4*us, 4*us, ecnOff
	if got := s.(*Sender).config; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// BenchmarkRoundTrip measures a packet and its ACK, which must not allocate memory.
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
	for recovery, conf := range map[string]func(c *Config){GoBackN: nil, SelectiveRepeat: repeat,
		reorderAdaptive: reorder(reorderAdaptive, 0)} {
		t.Run(recovery, func(t *testing.T) {
			w := newPipe(t, 0, conf, &fixed{window: 50_000}, cc.CNPMode)
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
		})
	}
}
