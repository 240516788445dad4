package udp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

// newFlow returns an endless flow with datagrams of 1448 bytes of payload.
func newFlow() transport.Flow {
	f := flowtest.NewFlow(0)
	f.Payload = 1448
	return f
}

func pair(t testing.TB, f transport.Flow, c Config) (*Sender, *Receiver) {
	t.Helper()
	s, r, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// times emits n datagrams, each when it is due, and returns when.
func times(t testing.TB, s *Sender, n int) []unit.Time {
	t.Helper()
	var at []unit.Time
	var p packet.Packet
	for range n {
		now := s.NextSend()
		if now == unit.Never {
			break
		}
		p = packet.Packet{}
		s.Emit(now, &p)
		at = append(at, now)
	}
	return at
}

// TestCBRExact checks that a constant rate is exact in the long run, also for rates without even division: datagram n
// is due at ⌈n·payload·8·10¹²/rate⌉.
func TestCBRExact(t *testing.T) {
	for _, rate := range []unit.Rate{40 * unit.Mbps, 999_999_937, 7} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			s, _ := pair(t, newFlow(), Config{Rate: rate, Pattern: CBR})
			n := 1_000_000
			if rate == 7 {
				n = 1000
			}
			at := times(t, s, n)
			if want := unit.TransmitTime(unit.Bytes(n-1)*1448, rate); at[n-1] != want {
				t.Errorf("rate %v: datagram %d at %v, want %v", rate, n-1, at[n-1], want)
			}
		})
	}
}

// TestGapJitter checks that with jitter each gap is within ±j of the nominal one, uniform, and that the rate stays.
func TestGapJitter(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: CBR, GapJitter: 0.1})
	at := times(t, s, 200_001)
	nominal := float64(unit.TransmitTime(1448, 40*unit.Mbps))
	sum, squares, least, most := 0.0, 0.0, math.Inf(1), 0.0
	for i := range 200_000 {
		g := float64(at[i+1]-at[i])/nominal - 1
		sum, squares = sum+g, squares+g*g
		least, most = min(least, g), max(most, g)
	}
	mean, deviation := sum/200_000, math.Sqrt(squares/200_000)
	if least < -0.1-1e-9 || most > 0.1+1e-9 || least > -0.0999 || most < 0.0999 || math.Abs(mean) > 0.0006 ||
		math.Abs(deviation-0.1/math.Sqrt(3)) > 0.0005 {
		t.Errorf("gaps vary from %.4f to %.4f, mean %.5f, deviation %.5f", least, most, mean, deviation)
	}
}

// TestSender_PoissonGapsAreExponential checks that Poisson has exponential gaps: equal mean and deviation, P(gap >
// mean) = 1/e, and no memory from gap to gap.
func TestSender_PoissonGapsAreExponential(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: Poisson})
	const n = 200_000
	at := times(t, s, n+1)
	mean := float64(unit.TransmitTime(1448, 40*unit.Mbps))
	sum, squares, longer, product, before := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range n {
		g := float64(at[i+1]-at[i]) / mean
		sum, squares = sum+g, squares+g*g
		if g > 1 {
			longer++
		}
		product += (g - 1) * (before - 1)
		before = g
	}
	if m, v, l, c := sum/n, squares/n-(sum/n)*(sum/n), longer/n, product/n; math.Abs(m-1) > 0.01 || math.Abs(v-1) > 0.02 ||
		math.Abs(l-1/math.E) > 0.005 || math.Abs(c) > 0.01 {
		t.Errorf("mean %.4f, variance %.4f, longer than the mean %.4f, correlation %.4f", m, v, l, c)
	}
}

// TestSender_BurstSendsEarnedDatagrams checks bursts as iperf3 sends them: each millisecond all datagrams that the rate
// has earned, back to back. 40 Mb/s is 3.45 datagrams a millisecond.
func TestSender_BurstSendsEarnedDatagrams(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: Burst, Interval: unit.Millisecond})
	at := times(t, s, 34_531)
	per := map[int64]int{}
	for _, x := range at {
		if x%unit.Millisecond != 0 {
			t.Fatalf("a datagram at %v", x)
		}
		per[int64(x/unit.Millisecond)]++
	}
	for ms, n := range per {
		if ms > 0 && n != 3 && n != 4 {
			t.Errorf("%d datagrams in millisecond %d", n, ms)
		}
	}
	// 10 s earn ⌊40·10⁶·10/8/1448⌋ = 34530, and one went at the start
	if last := at[34_530]; last < 9999*unit.Millisecond || last > 10*unit.Second {
		t.Errorf("datagram 34530 at %v", last)
	}
}

// TestBurstSleepsLong checks that a slow burst source sleeps until a datagram is earned, in one step for any number of
// intervals, and until the same time as interval by interval.
func TestBurstSleepsLong(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: unit.Kbps, Pattern: Burst, Interval: unit.Nanosecond})
	at := times(t, s, 4)
	for i, x := range at {
		if want := unit.Time(i) * 11584 * unit.Millisecond; x != want {
			t.Errorf("datagram %d at %v, want %v", i, x, want)
		}
	}
	for _, c := range []Config{{Rate: 40 * unit.Mbps, Interval: unit.Millisecond},
		{Rate: 999_937, Interval: 7 * unit.Microsecond}, {Rate: 3 * unit.Mbps, Interval: 100 * unit.Millisecond}} {
		c.Pattern = Burst
		f := newFlow()
		f.Start = 123_457
		s, _ := pair(t, f, c)
		now, sent := f.Start, int64(0)
		for i, got := range times(t, s, 5000) {
			for int64(c.Rate.BytesIn(now-f.Start))/1448+1 <= sent { // by definition: nothing earned, sleep
				now += c.Interval
			}
			if sent++; got != now {
				t.Fatalf("%+v: datagram %d at %v, by definition at %v", c, i, got, now)
			}
		}
	}
}

// TestFarFuture checks that times beyond the range of Time are never, not negative.
func TestFarFuture(t *testing.T) {
	for _, c := range []Config{
		{Rate: 1, Pattern: CBR, GapJitter: 1},
		{Rate: 1, Pattern: Poisson},
		{Rate: 1, Pattern: Burst, Interval: unit.Never / 2},
		{Rate: unit.Mbps, Pattern: OnOff, On: unit.Millisecond, Off: unit.Never / 2},
		{Rate: unit.Mbps, Pattern: OnOff, On: unit.Never / 2, Off: unit.Never / 2},
	} {
		f := newFlow()
		f.Payload = 65507
		s, _ := pair(t, f, c)
		at := times(t, s, 2000)
		for i := 1; i < len(at); i++ {
			if at[i] < at[i-1] {
				t.Errorf("%+v: datagram %d at %v, after one at %v", c, i, at[i], at[i-1])
				break
			}
		}
	}
}

// TestOnOff checks that an on/off source sends at its rate while on. On and off alternate with the given means.
func TestOnOff(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: OnOff, On: 20 * unit.Millisecond,
		Off: 60 * unit.Millisecond})
	at := times(t, s, 400_000)
	total := at[len(at)-1].Seconds()
	if rate := 400_000 * 1448 * 8 / total; math.Abs(rate/10e6-1) > 0.05 {
		t.Errorf("a quarter of 40 Mb/s was expected, %.2f Mb/s are sent", rate/1e6)
	}
	gap, pauses := unit.TransmitTime(1448, 40*unit.Mbps), 0
	for i := range len(at) - 1 {
		if d := at[i+1] - at[i]; d > gap+1 {
			pauses++
		} else if d < gap-1 {
			t.Fatalf("a gap of %v while on", d)
		}
	}
	// one pause each 80 ms, but those within which the source was on for less than a gap
	if want := total / 0.08; math.Abs(float64(pauses)/want-1) > 0.05 {
		t.Errorf("%d pauses in %.0f s", pauses, total)
	}
}

// TestStartStopSize checks that a flow starts and stops at its times, and sends exactly its size.
func TestStartStopSize(t *testing.T) {
	f := newFlow()
	f.Start, f.Stop = unit.Second, 2*unit.Second
	s, _ := pair(t, f, Config{Rate: 11584 * unit.Kbps, Pattern: CBR}) // 1000 datagrams a second
	at := times(t, s, 5000)
	if len(at) != 1000 || at[0] != unit.Second || at[999] >= 2*unit.Second || s.Counters().Finished != unit.Never {
		t.Errorf("%d datagrams from %v to %v", len(at), at[0], at[len(at)-1])
	}
	f = newFlow()
	f.Size = 10_000 // six of 1448 and one of 1312
	s, r := pair(t, f, Config{Rate: 40 * unit.Mbps, Pattern: CBR})
	var last packet.Packet
	for s.NextSend() != unit.Never {
		last = packet.Packet{Sent: s.NextSend()}
		s.Emit(s.NextSend(), &last)
		r.Receive(last.Sent+5, &last)
	}
	if c := s.Counters(); c.SentPackets != 7 || c.SentBytes != 10_000 || last.Payload != 1312 || last.Size != 1354 ||
		c.Finished == unit.Never {
		t.Errorf("%+v, last %d bytes", *c, last.Payload)
	}
	if c := r.Counters(); c.ReceivedBytes != 10_000 || c.Finished == unit.Never {
		t.Errorf("the receiver counts %+v", *c)
	}
}

// TestSchedulesContinue checks that a busy NIC delays datagrams, not the schedule: the flow catches up with its rate.
func TestSchedulesContinue(t *testing.T) {
	s, _ := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: CBR})
	var p packet.Packet
	s.Emit(10*unit.Millisecond, &p) // the first one could go only after 10 ms
	n := 1
	for s.NextSend() <= 10*unit.Millisecond {
		s.Emit(10*unit.Millisecond, &p)
		n++
	}
	if n != 35 { // ⌊10 ms / 289.6 µs⌋ + 1
		t.Errorf("%d datagrams were due by then", n)
	}
}

// TestReceiver_CountsDuplicatesAndJitter checks the receiver: loss leaves gaps, duplicates and reordering are
// distinguished, delay and jitter are RFC 3550's.
func TestReceiver_CountsDuplicatesAndJitter(t *testing.T) {
	_, r := pair(t, newFlow(), Config{Rate: unit.Mbps, Pattern: CBR})
	delays := []unit.Time{100, 116, 100, 148} // jitter: 0, 1, 1.9375, 4.81640625
	for i, d := range delays {
		r.Receive(unit.Time(i)*1000+d, &packet.Packet{Seq: int64(i), Payload: 1448, Sent: unit.Time(i) * 1000})
	}
	c := r.Counters()
	if c.DelayMin != 100 || c.DelayMax != 148 || c.DelaySum != 464 || math.Abs(c.Jitter-4.81640625) > 1e-12 {
		t.Errorf("%+v", *c)
	}
	for i, x := range []struct {
		seq       int64
		duplicate bool
	}{{10, false}, {8, false}, {8, true}, {9, false}, {10, true}, {2000, false}, {900, true}, {977, false}, {977, true},
		{1999, false}} {
		before := c.DuplicateCount()
		r.Receive(1e6, &packet.Packet{Seq: x.seq, Payload: 1448, Sent: 1e6 - 100})
		if (c.DuplicateCount() > before) != x.duplicate {
			t.Errorf("datagram %d, number %d, counts as a duplicate: %v", i, x.seq, !x.duplicate)
		}
	}
	if int64(c.ReceivedBytes) != 1448*(c.ReceivedPackets-c.DuplicateCount()) || c.ReceivedPackets != 14 {
		t.Errorf("%+v", *c)
	}
}

// TestDuplicatesBruteForce follows RFC 3550's sequence check, by brute force: any order, any duplicates within the
// window.
func TestDuplicatesBruteForce(t *testing.T) {
	_, r := pair(t, newFlow(), Config{Rate: unit.Mbps, Pattern: CBR})
	random := unit.NewRandom(3, "order")
	seen := map[int64]bool{}
	base, duplicates := int64(0), int64(0)
	for range 100_000 {
		base += random.Int64N(3)
		n := base + random.Int64N(500)
		if seen[n] {
			duplicates++
		}
		seen[n] = true
		r.Receive(1, &packet.Packet{Seq: n, Payload: 1})
	}
	if r.Counters().DuplicateCount() != duplicates {
		t.Errorf("%d duplicates, brute force counts %d", r.Counters().DuplicateCount(), duplicates)
	}
}

func TestSender_FillsHeaders(t *testing.T) {
	for version, want := range map[uint8]int32{4: 1490, 6: 1510} {
		f := newFlow()
		f.Version, f.TOS = version, 0x28
		s, _ := pair(t, f, Config{Rate: unit.Mbps, Pattern: CBR})
		var p packet.Packet
		s.Emit(0, &p)
		if p.Size != want || p.Version != version || p.TOS != 0x28 || p.HopLimit != 64 || p.Proto != packet.ProtoUDP ||
			p.SrcPort != 10 || p.DstPort != 20 ||
			p.Hash != packet.FlowHash(1, 2, 10, 20, packet.ProtoUDP) {
			t.Errorf("IPv%d: %+v", version, p)
		}
	}
}

func TestConfig_RejectsBadValues(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"rate":       func(c *Config) { c.Rate = 0 },
		"pattern":    func(c *Config) { c.Pattern = "chaos" },
		"gap_jitter": func(c *Config) { c.GapJitter = 1.1 },
		"interval":   func(c *Config) { c.Interval = 0 },
		"on":         func(c *Config) { c.On = 1 },
		"off":        func(c *Config) { c.Off = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := scheme.Defaults[Config]()
			c.Rate = 1
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.HasPrefix(err.Error(), name+" is ") {
				t.Error(err)
			}
		})
	}
	c := Config{Rate: 1, GapJitter: math.NaN(), Pattern: CBR, Interval: unit.Second, On: unit.Second, Off: unit.Second}
	if err := scheme.Validate(&c); err == nil {
		t.Error("a jitter that is not a number is taken")
	}
	if _, _, err := New(newFlow(), Config{Rate: 1, Pattern: OnOff, On: unit.Microsecond, Off: unit.Second}); err == nil {
		t.Error("an on time of a fraction of the gap is taken")
	}
	f := newFlow()
	f.Payload = 0
	if _, _, err := New(f, Config{Rate: 1, Pattern: CBR}); err == nil {
		t.Error("a payload of 0 is taken")
	}
}

// TestConfig_WarnsOfPhaseLock checks that without jitter there is a warning about phase lock.
func TestConfig_WarnsOfPhaseLock(t *testing.T) {
	if w := (&Config{Pattern: CBR}).Warns(); len(w) != 1 {
		t.Error("no warning of phase lock")
	}
	if len((&Config{GapJitter: 0.1, Pattern: CBR}).Warns())+len((&Config{Pattern: Poisson}).Warns()) > 0 {
		t.Error("a warning without reason")
	}
}

func TestNoAllocation(t *testing.T) {
	for _, pattern := range []string{CBR, Burst, Poisson, OnOff} {
		t.Run(pattern, func(t *testing.T) {
			s, r := pair(t, newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: pattern, GapJitter: 0.1, Interval: unit.Millisecond,
				On: unit.Second, Off: unit.Second})
			p := &packet.Packet{}
			if n := testing.AllocsPerRun(2000, func() {
				now := s.NextSend()
				s.Emit(now, p)
				r.Receive(now+1, p)
			}); n != 0 {
				t.Errorf("%s: %g allocations a datagram", pattern, n)
			}
		})
	}
}

func ExampleNew() {
	s, _, err := New(newFlow(), Config{Rate: 40 * unit.Mbps, Pattern: CBR})
	for range 3 {
		var p packet.Packet
		fmt.Print(s.NextSend(), " ")
		s.Emit(s.NextSend(), &p)
	}
	fmt.Println(err)
	// Output: 0s 289.6us 579.2us <nil>
}
