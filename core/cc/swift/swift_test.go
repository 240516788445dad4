package swift_test

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/swift"
	"weir/core/unit"
	"weir/internal/testkit"
)

// rounding is the tolerance of windows and delays.
var rounding = testkit.Tolerance{Relative: 1e-9}

const us = unit.Microsecond

// flat has a target delay of 20 µs for any path and window.
func flat() swift.Config {
	c := swift.Defaults()
	c.HopDelay, c.Range = 0, 0
	return c
}

func start(t testing.TB, c swift.Config) *swift.Swift {
	s, err := swift.New(cctest.NewDatacentreFlow(1), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ack(s *swift.Swift, now, rtt unit.Time, packets int) {
	s.OnAck(now, &cc.Ack{Packets: packets, RTT: cc.RTT{Sample: rtt}})
}

// TestTargetDelay checks Swift §3.5: t = base + hops·ħ + max(0, min(α/√cwnd + β, fs_range)), α =
// fs_range/(1/√fs_min_cwnd − 1/√fs_max_cwnd), β = −α/√fs_max_cwnd. Flow scaling adds fs_range at fs_min_cwnd, 0 at
// fs_max_cwnd, and is bounded beyond both.
func TestTargetDelay(t *testing.T) {
	for _, c := range []struct{ window, want float64 }{ // in packets and µs
		{0.05, 20 + 9 + 100}, {0.1, 20 + 9 + 100}, {100, 20 + 9}, {1000, 20 + 9},
		{1, 29 + 100*(1-0.1)/(math.Sqrt(10)-0.1)},
		{4, 29 + 100*(0.5-0.1)/(math.Sqrt(10)-0.1)},
		{25, 29 + 100*(0.2-0.1)/(math.Sqrt(10)-0.1)},
	} {
		t.Run(fmt.Sprint("window ", c.window), func(t *testing.T) {
			config := swift.Defaults()
			config.HopDelay = 3 * us // three hops
			s := start(t, config)
			s.SetWindow(c.window)
			testkit.CheckNear(t, fmt.Sprint("window ", c.window), s.TargetDelay()/1e6, c.want, rounding)
		})
	}
	testkit.CheckNear(t, "neither scaling", start(t, flat()).TargetDelay()/1e6, 20, rounding)
}

// TestSwift_AddsAIBelowTarget follows Algorithm 1: below the target cwnd + ai/cwnd·num_acked, and + ai·num_acked if
// cwnd < 1.
func TestSwift_AddsAIBelowTarget(t *testing.T) {
	c := flat()
	s := start(t, c)
	want := 10.0
	for n := 1; n < 100; n++ {
		ack(s, unit.Time(n)*us, 19*us, n%4)
		want += 1 / want * float64(n%4)
		testkit.CheckNear(t, fmt.Sprint("ACK ", n), s.Window(), want, rounding)
	}
	s = start(t, c)
	s.SetWindow(0.25)
	ack(s, 0, 19*us, 1)
	testkit.CheckNear(t, "below a packet", s.Window(), 1.25, rounding)
	c.AI = 0.125
	s = start(t, c)
	s.SetWindow(0.25)
	ack(s, 0, 19*us, 2)
	testkit.CheckNear(t, "ai", s.Window(), 0.5, rounding)
	c.InitialWindow, c.MaxWindow = 30, 30
	s = start(t, c)
	ack(s, 0, 19*us, 10)
	testkit.CheckNear(t, "max_cwnd", s.Window(), 30, rounding)
}

// TestSwift_DelayDecreaseIsCapped follows Algorithm 1: at the target and above max(1 − β·(delay − target)/delay, 1 −
// max_mdf)·cwnd, if the last decrease is a round trip ago.
func TestSwift_DelayDecreaseIsCapped(t *testing.T) {
	for rtt := 20 * us; rtt < 200*us; rtt += 3 * us {
		s := start(t, flat())
		ack(s, 0, rtt, 1)
		delay := float64(rtt)
		testkit.CheckNear(t, fmt.Sprint("RTT ", rtt), s.Window(), 10*max(1-0.8*(delay-20e6)/delay, 0.5), rounding)
	}
	s := start(t, flat())
	ack(s, 0, 25*us, 1)
	want := 10 * (1 - 0.8*5/25)
	for now := us; now < 25*us; now += us {
		ack(s, now, 25*us, 1)
		testkit.CheckNear(t, fmt.Sprint("within the round trip, at ", now), s.Window(), want, rounding)
	}
	ack(s, 25*us, 25*us, 1)
	testkit.CheckNear(t, "a round trip later", s.Window(), want*(1-0.8*5/25), rounding)
	// ACKs that do not change the window do not put the decrease off.
	ack(s, 50*us, 25*us, 1)
	testkit.CheckNear(t, "and one more", s.Window(), want*(1-0.8*5/25)*(1-0.8*5/25), rounding)
	// an increase is free at any time, and does not allow another decrease
	before := s.Window()
	ack(s, 51*us, 15*us, 1)
	testkit.CheckNear(t, "an increase within it", s.Window(), before+1/before, rounding)
	ack(s, 52*us, 25*us, 1)
	testkit.CheckNear(t, "no decrease after it", s.Window(), before+1/before, rounding)
}

// TestSwift_LossCutsOncePerRoundTrip checks Swift's algorithm 1: fast recovery and timeouts cut by max_mdf once a round
// trip. RETX_RESET_THRESHOLD consecutive timeouts set min_cwnd, at any time; ACKs and fast recovery reset the count.
func TestSwift_LossCutsOncePerRoundTrip(t *testing.T) {
	timeout, recovery := cc.Loss{Kind: cc.RetransmissionTimeout}, cc.Loss{Kind: cc.FastRecovery}
	s := start(t, flat())
	ack(s, 0, 19*us, 0)
	s.OnLoss(100*us, recovery)
	testkit.CheckNear(t, "fast recovery", s.Window(), 5, rounding)
	s.OnLoss(110*us, timeout)
	testkit.CheckNear(t, "a timeout in the same round trip", s.Window(), 5, rounding)
	s.OnLoss(119*us, timeout)
	testkit.CheckNear(t, "a timeout in the next one", s.Window(), 2.5, rounding)
	for i := range 2 {
		s.OnLoss(120*us, timeout)
		testkit.CheckNear(t, fmt.Sprint("timeout ", 3+i), s.Window(), 2.5, rounding)
	}
	s.OnLoss(120*us, timeout)
	testkit.CheckNear(t, "timeout 5", s.Window(), 0.01, rounding)

	for name, between := range map[string]func(s *swift.Swift){
		"an ACK": func(s *swift.Swift) { s.OnAck(0, &cc.Ack{}) }, "fast recovery": func(s *swift.Swift) {
			s.OnLoss(0, recovery)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s = start(t, flat())
			for range 4 {
				s.OnLoss(0, timeout)
			}
			between(s)
			s.OnLoss(0, timeout)
			if s.Window() < 0.1 {
				t.Errorf("%s does not begin the count of timeouts anew: %v", name, s.Window())
			}
		})
	}
	s = start(t, flat())
	for _, kind := range []cc.LossKind{cc.ECNEcho, cc.LossInReduction, cc.Spurious, cc.Recovered, cc.Idled} {
		s.OnLoss(0, cc.Loss{Kind: kind})
	}
	testkit.CheckNear(t, "what is not Swift's", s.Window(), 10, rounding)
}

// TestSwift_PacesOnlyBelowOnePacket checks Swift's algorithm 1: from one packet on there is no pacing. Below it a
// packet goes every rtt/cwnd.
func TestSwift_PacesOnlyBelowOnePacket(t *testing.T) {
	for _, window := range []float64{0.02, 0.1, 0.25, 0.5, 0.999, 1, 1.5, 10} {
		t.Run(fmt.Sprint("window ", window), func(t *testing.T) {
			c := flat()
			c.AI = 1e-12
			s := start(t, c)
			s.SetWindow(window)
			if s.Decision().Rate != 0 {
				t.Errorf("window %v: a rate of %v without an RTT", window, s.Decision().Rate)
			}
			ack(s, 0, 16*us, 0)
			d := s.Decision()
			if window >= 1 {
				if d.Rate != 0 || d.Window != unit.Bytes(1000*window) {
					t.Errorf("window %v: %+v", window, d)
				}
				return
			}
			if want := 8000 / (16e-6 / window); d.Window != 1000 || math.Abs(float64(d.Rate)-want) > 2 {
				t.Errorf("window %v: %+v, want a rate of %.0f", window, d, want)
			}
		})
	}
}

// TestSwift_KeepsBoundsUnderRandomRTTs checks properties under random RTTs. The window stays within its bounds, a
// larger delay never leaves a larger window, and no two decreases are nearer than an RTT.
func TestSwift_KeepsBoundsUnderRandomRTTs(t *testing.T) {
	random := unit.NewRandom(1, "swift")
	c := swift.Defaults()
	s := start(t, c)
	now, last := unit.Time(0), unit.Time(-unit.Second)
	for range 50_000 {
		now += unit.Time(random.Int64N(int64(3 * us)))
		rtt := unit.Time(10+random.IntN(80)) * us
		less, more := *s, *s
		ack(&less, now, rtt, 1)
		ack(&more, now, rtt+us, 1)
		if more.Window() > less.Window() && now-last >= rtt+us { // a longer round trip also waits longer
			t.Fatalf("an RTT of %v leaves %v packets, a larger one %v", rtt, less.Window(), more.Window())
		}
		if less.Window() < s.Window() {
			if now-last < rtt {
				t.Fatalf("decreases at %v and %v, the RTT is %v", last, now, rtt)
			}
			last = now
		}
		if w := less.Window(); w < c.MinWindow || w > c.MaxWindow {
			t.Fatal(w)
		}
		*s = less
	}
}

// TestScheme_AppliesAndRejectsParameters checks parameters that are accepted and parameters that are refused.
func TestScheme_AppliesAndRejectsParameters(t *testing.T) {
	window := func(given ...string) float64 {
		c, err := cctest.BuildController(swift.Scheme(), cctest.NewDatacentreFlow(1), given...)
		if err != nil {
			t.Fatal(given, err)
		}
		s := c.(*swift.Swift)
		ack(s, 0, 40*us, 2)
		return s.Window()
	}
	base := []string{"hop_delay", "0s", "fs_range", "0s"}
	testkit.CheckNear(t, "20 of 40 us", window(base...), 10*(1-0.8*0.5), rounding)
	testkit.CheckNear(t, "beta", window(append(base, "beta", "40%")...), 10*(1-0.4*0.5), rounding)
	testkit.CheckNear(t, "max_mdf", window(append(base, "max_mdf", "10%")...), 9, rounding)
	testkit.CheckNear(t, "base_target", window(append(base, "base_target", "41us", "ai", "3")...), 10.6, rounding)
	testkit.CheckNear(t, "three hops", window("hop_delay", "8us", "fs_range", "0s"), 10.2, rounding)
	testkit.CheckNear(t, "two hops", window("hop_delay", "8us", "fs_range", "0s", "hops", "2"), 10*(1-0.8*0.1), rounding)
	testkit.CheckNear(t, "initial window", window(append(base, "initial_window", "50 packets")...), 50*(1-0.8*0.5),
		rounding)
	testkit.CheckNear(t, "largest window", window(append(base, "initial_window", "50 packets", "max_cwnd", "5")...),
		5*(1-0.8*0.5), rounding)
	direct := cctest.NewDatacentreFlow(1) // one link joins the hosts: t = base target
	direct.Hops = 0
	c, err := cctest.BuildController(swift.Scheme(), direct, "hop_delay", "8us", "fs_range", "0s")
	if err != nil {
		t.Fatal("a path without switches:", err)
	}
	s := c.(*swift.Swift)
	ack(s, 0, 40*us, 2)
	testkit.CheckNear(t, "no hops", s.Window(), 10*(1-0.8*0.5), rounding)
	if _, err := cctest.BuildController(swift.Scheme(), cctest.NewFlow(1)); err == nil {
		t.Error("an unknown number of hops is taken")
	}
	for _, given := range [][]string{
		{"fs_min_cwnd", "100"}, {"min_cwnd", "7", "max_cwnd", "5"}, {"fs_min_cwnd", "NaN"}, {"ai", "NaN"},
		{"min_cwnd", "NaN"}, {"max_cwnd", "Inf"},
	} {
		if _, err := cctest.BuildController(swift.Scheme(), cctest.NewDatacentreFlow(1), given...); err == nil {
			t.Errorf("%q is taken", given)
		}
	}
}

func ExampleNew() {
	c := swift.Defaults()
	c.HopDelay, c.Range = 0, 0 // the target is the base target, 20 µs
	s, _ := swift.New(cc.Flow{MSS: 1000, InitialWindow: 10}, c)
	s.OnAck(0, &cc.Ack{Packets: 1, RTT: cc.RTT{Sample: 40 * unit.Microsecond}})
	fmt.Println(s.Decision().Window) // 10·(1 − 0.8·(40 − 20)/40)
	// Output: 6kB
}
