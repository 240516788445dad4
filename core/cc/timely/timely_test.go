package timely_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/timely"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

// rounding is the tolerance of rates, in bits per second.
var rounding = testkit.Tolerance{Relative: 1e-9, Absolute: 1}

const (
	us   = unit.Microsecond
	line = 40 * unit.Gbps
)

func start(t testing.TB, c timely.Config) *timely.Timely {
	x, err := timely.New(cctest.NewDatacentreFlow(1), c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// each is a preset that computes the rate at each ACK, from 10 Gb/s on.
func each(preset string) timely.Config {
	c := timely.PresetConfig(preset, line)
	c.Update, c.StartRate = timely.EachACK, 10*unit.Gbps
	return c
}

func ack(c cc.Controller, rtt unit.Time) {
	c.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: rtt}})
}

// TestTimely_PaperFollowsAlgorithm1 checks TIMELY's algorithm 1: rtt_diff = (1 − α)·rtt_diff + α·(new_rtt − prev_rtt),
// gradient = rtt_diff/minRTT. new_rtt < Tlow: rate + δ. new_rtt > Thigh: rate·(1 − β·(1 − Thigh/new_rtt)). gradient ≤
// 0: rate + N·δ. Else rate·(1 − β·gradient).
func TestTimely_PaperFollowsAlgorithm1(t *testing.T) {
	c := start(t, each(timely.Paper))
	rate, diff, last := 10e9, 0.0, 0.0
	ack(c, 100*us)
	testkit.CheckNear(t, "the first RTT", c.Decision().Rate, rate, rounding)
	last = 100
	for i, rtt := range []float64{100, 101, 103, 102, 40, 49, 50, 51, 500, 501, 900, 499, 300, 300} {
		diff = 0.125*diff + 0.875*(rtt-last)
		last = rtt
		switch gradient := diff / 20; {
		case rtt < 50:
			rate += 10e6
		case rtt > 500:
			rate *= 1 - 0.8*(1-500/rtt)
		case gradient <= 0:
			rate += 10e6
		default:
			rate *= 1 - 0.8*gradient
		}
		rate = max(rate, 10e6)
		ack(c, unit.Time(rtt)*us)
		testkit.CheckNear(t, fmt.Sprintf("event %d, RTT %v us", i, rtt), c.Decision().Rate, rate, rounding)
	}
}

// TestTimely_HAIAfterFiveNegativeGradients checks TIMELY's algorithm 1: N = 5 after five completion events with a
// negative gradient, else 1. An event without a negative gradient resets the count.
func TestTimely_HAIAfterFiveNegativeGradients(t *testing.T) {
	c := start(t, each(timely.Paper))
	rate := 10e9
	rtt := 400 * us
	ack(c, rtt)
	for n := 1; n <= 9; n++ {
		rtt -= us
		ack(c, rtt)
		if rate += 10e6; n >= 5 {
			rate += 40e6
		}
		testkit.CheckNear(t, fmt.Sprint("negative gradient ", n), c.Decision().Rate, rate, rounding)
	}
	for range 500 { // the average's tail: it falls to a gradient of 0
		ack(c, rtt)
	}
	before := float64(c.Decision().Rate)
	ack(c, rtt)
	testkit.CheckNear(t, "no gradient", c.Decision().Rate, before+10e6, rounding)
}

// TestTimely_PatchedFollowsWeightedGradient checks patched TIMELY (CoNEXT'16): w(g) is 0 up to −1/4, 2g + 1/2 between,
// 1 from 1/4 on. The rate is δ·(1 − w) + rate·(1 − β·w·(new_rtt − RTT_ref)/RTT_ref), with RTT_ref = Tlow and β = 0.008.
func TestTimely_PatchedFollowsWeightedGradient(t *testing.T) {
	for _, step := range []float64{-30, -7, -6, -3, -1, 0, 1, 3, 5, 6, 7, 30} {
		t.Run(fmt.Sprintf("step of %v us", step), func(t *testing.T) { // µs
			c := start(t, each(timely.Patched))
			ack(c, 200*us)
			ack(c, 200*us+unit.Time(step*1e6))
			gradient := 0.875 * step / 20
			w := 2*gradient + 0.5
			if gradient <= -0.25 {
				w = 0
			} else if gradient >= 0.25 {
				w = 1
			}
			testkit.CheckNear(t, fmt.Sprint("a step of ", step), c.Decision().Rate, 10e6*(1-w)+10e9*(1-0.008*w*(150+step)/50),
				rounding)
		})
	}
	c := start(t, each(timely.Patched))
	ack(c, 600*us)
	ack(c, 1000*us)
	testkit.CheckNear(t, "above Thigh", c.Decision().Rate, 10e9*(1-0.008*0.5), rounding)
	ack(c, 20*us)
	testkit.CheckNear(t, "below Tlow", c.Decision().Rate, 10e9*(1-0.008*0.5)+10e6, rounding)
}

// TestFixedPoint checks that patched TIMELY has one fixed point: without a gradient, δ/2 = rate·β/2·(RTT − Tlow)/Tlow.
// Algorithm 1 has no fixed point: without a gradient it rises at any rate.
func TestFixedPoint(t *testing.T) {
	for _, begin := range []unit.Rate{100 * unit.Mbps, 30 * unit.Gbps} {
		t.Run(fmt.Sprint("from ", begin), func(t *testing.T) {
			config := each(timely.Patched)
			config.StartRate = begin
			c := start(t, config)
			for range 20000 {
				ack(c, 100*us)
			}
			testkit.CheckNear(t, fmt.Sprint("from ", begin), c.Decision().Rate, 10e6/0.008, rounding)
		})
	}
	c := start(t, each(timely.Paper))
	for range 2000 {
		ack(c, 100*us)
	}
	testkit.CheckNear(t, "algorithm 1", c.Decision().Rate, 10e9+1999*10e6, rounding)
}

// TestTimely_HPCCMatchesSimulator checks the algorithm of the HPCC simulator (rdma-hw.cc). δ is 1/1000 of the line, and
// any five increases in a row bring five times as much. A decrease ends that, and the rate is computed once a round
// trip.
func TestTimely_HPCCMatchesSimulator(t *testing.T) {
	config := timely.PresetConfig(timely.HPCC, line)
	config.StartRate = 10 * unit.Gbps
	c := start(t, config)
	una, next := int64(0), int64(10_000)
	round := func(rtt unit.Time) {
		before := c.Decision().Rate
		for range 10 {
			una += 1000
			c.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: rtt}, FirstUnacked: una, Next: una + 10_000})
			if una < next+1000 && c.Decision().Rate != before {
				t.Fatalf("the rate changes within a round trip")
			}
		}
		next += 10_000
	}
	next = 0
	round(20 * us) // stores the first RTT; sent until then: 11000 B
	next = 11_000
	rate := 10e9
	for n := range 7 {
		una = next
		c.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: 20 * us}, FirstUnacked: una, Next: una + 10_000})
		testkit.CheckNear(t, fmt.Sprint("not beyond what was sent at event ", n), c.Decision().Rate, rate, rounding)
		una = next + 1000
		c.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: 20 * us}, FirstUnacked: una, Next: una + 10_000})
		next = una + 10_000
		if rate += 40e6; n >= 5 {
			rate += 160e6
		}
		testkit.CheckNear(t, fmt.Sprint("increase ", n), c.Decision().Rate, rate, rounding)
	}
	c.OnAck(0, &cc.Ack{RTT: cc.RTT{Sample: 1000 * us}, FirstUnacked: next + 1000, Next: next + 11_000})
	rate *= 1 - 0.8*0.5
	testkit.CheckNear(t, "above Thigh", c.Decision().Rate, rate, rounding)
	c.OnAck(0, &cc.Ack{RTT: cc.RTT{Sample: 20 * us}, FirstUnacked: next + 12_000, Next: next + 20_000})
	testkit.CheckNear(t, "one increase after it", c.Decision().Rate, rate+40e6, rounding)
}

// TestTimely_UpdatesOncePerSegment checks that a completion event is a segment, 64 KB of payload for any number of
// ACKs. An ACK without an RTT leaves the event to the next ACK.
func TestTimely_UpdatesOncePerSegment(t *testing.T) {
	config := timely.PresetConfig(timely.Paper, line)
	config.StartRate = 10 * unit.Gbps
	c := start(t, config)
	events := 0
	for i := 1; i <= 640; i++ {
		before := c.Decision().Rate
		a := &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: 20 * us}}
		if i%64 == 0 {
			a.RTT.Sample = 0
		}
		c.OnAck(0, a)
		if c.Decision().Rate > before {
			events++
			if i%64 == 0 {
				t.Errorf("ACK %d has no RTT", i)
			}
		}
	}
	if events != 8 { // ten segments; the first event has no RTT before it, the last one's ACK none at all
		t.Errorf("%d events", events)
	}
	config.Segment = 16 * unit.KB
	c = start(t, config)
	for range 64 {
		ack(c, 20*us)
	}
	testkit.CheckNear(t, "four segments of 16 KB", c.Decision().Rate, 10e9+3*10e6, rounding)
}

// TestTimely_KeepsBoundsUnderRandomRTTs checks properties under random RTTs. The rate stays within its bounds. After
// the same events a larger RTT never leaves a higher rate than a smaller one, apart from the count for hyperactive
// increase.
func TestTimely_KeepsBoundsUnderRandomRTTs(t *testing.T) {
	for _, preset := range []string{timely.Paper, timely.Patched, timely.HPCC} {
		t.Run(preset, func(t *testing.T) {
			config := each(preset)
			config.HAI = 1
			random := unit.NewRandom(1, preset)
			for range 300 {
				story := make([]unit.Time, 1+random.IntN(30))
				for i := range story {
					story[i] = unit.Time(10+random.IntN(600)) * us
				}
				last := math.Inf(1)
				for rtt := 10 * us; rtt < 700*us; rtt += 13 * us {
					c := start(t, config)
					for _, r := range story {
						ack(c, r)
					}
					ack(c, rtt)
					rate := float64(c.Decision().Rate)
					if rate < float64(config.MinRate) || rate > float64(line) {
						t.Fatalf("%s: %v", preset, c.Decision().Rate)
					}
					if rtt <= config.THigh && rate > last+1 { // at Thigh the law changes and may jump up
						t.Fatalf("%s: an RTT of %v leaves %.0f, a smaller one %.0f", preset, rtt, rate, last)
					}
					last = rate
				}
			}
		})
	}
}

// TestScheme_AppliesAndRejectsParameters checks presets, values that replace theirs, and values that are refused.
func TestScheme_AppliesAndRejectsParameters(t *testing.T) {
	after := func(rtts []unit.Time, given ...string) cc.Controller {
		c, err := cctest.BuildController(timely.Scheme(), cctest.NewDatacentreFlow(1), append(given, "update", "ack",
			"start_rate",
			"10Gbps")...)
		if err != nil {
			t.Fatal(given, err)
		}
		for _, rtt := range rtts {
			ack(c, rtt)
		}
		return c
	}
	flat := []unit.Time{20 * us, 20 * us}
	testkit.CheckNear(t, "paper", after(flat).Decision().Rate, 10e9+10e6, rounding)
	testkit.CheckNear(t, "hpcc", after(flat, "preset", "hpcc", "line_rate", "20Gbps").Decision().Rate, 10e9+20e6, rounding)
	testkit.CheckNear(t, "delta", after(flat, "delta", "1Gbps").Decision().Rate, 11e9, rounding)
	testkit.CheckNear(t, "t_low", after([]unit.Time{20 * us, 22 * us}, "t_low", "15us", "alpha", "100%").Decision().Rate,
		10e9*(1-0.8*0.1), rounding)
	testkit.CheckNear(t, "min_rtt, beta", after([]unit.Time{60 * us, 62 * us}, "min_rtt", "10us", "alpha", "100%", "beta",
		"50%").Decision().Rate, 10e9*(1-0.5*0.2), rounding)
	testkit.CheckNear(t, "t_high", after([]unit.Time{100 * us, 100 * us}, "t_high", "80us").Decision().Rate,
		10e9*(1-0.8*0.2), rounding)
	testkit.CheckNear(t, "hai", after([]unit.Time{100 * us, 99 * us, 98 * us}, "hai_after", "2", "hai",
		"100").Decision().Rate, 10e9+10e6+1000e6, rounding)
	testkit.CheckNear(t, "no bound of a decrease", after([]unit.Time{60 * us, 400 * us}).Decision().Rate, 10e6, rounding)
	testkit.CheckNear(t, "max_decrease", after([]unit.Time{60 * us, 400 * us}, "max_decrease", "50%").Decision().Rate,
		5e9, rounding)
	testkit.CheckNear(t, "min_rate", after([]unit.Time{60 * us, 400 * us}, "min_rate", "2Gbps").Decision().Rate, 2e9,
		rounding)
	if c, err := cctest.BuildController(timely.Scheme(), cctest.NewDatacentreFlow(1), "window", "variable", "start_rate",
		"20Gbps"); err != nil || c.Decision().Window != 25_000 {
		t.Errorf("variable window: %v, %v", c, err)
	}
	for _, given := range [][]string{
		{"min_rate", "41Gbps"}, {"start_rate", "41Gbps"}, {"start_rate", "1Mbps"}, {"t_low", "600us"},
		{"preset", "hpcc", "line_rate", "500Mbps"},
	} {
		t.Run(strings.Join(given, " "), func(t *testing.T) {
			if _, err := cctest.BuildController(timely.Scheme(), cctest.NewDatacentreFlow(1), given...); err == nil {
				t.Error("it is taken")
			}
		})
	}
	if _, err := cctest.BuildController(timely.Scheme(), cctest.NewFlow(1)); err == nil {
		t.Error("a flow of unknown line rate is taken")
	}
	if _, err := cctest.BuildController(timely.Scheme(), cctest.NewFlow(1), "line_rate", "1Gbps", "window",
		"bdp"); err == nil {
		t.Error("a window of an unknown RTT is taken")
	}
}

// TestOptions_RejectStartBelowMinRate checks that a start rate below the minimum rate is refused before a flow exists.
func TestOptions_RejectStartBelowMinRate(t *testing.T) {
	o := scheme.Defaults[timely.Options]()
	if err := scheme.Validate(&o); err != nil {
		t.Fatal(err)
	}
	o.StartRate = unit.Mbps
	const want = "start_rate: 1Mbps is below the least rate, which is 10Mbps"
	if err := scheme.Validate(&o); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

func ExampleNew() {
	c := timely.PresetConfig(timely.Paper, 40*unit.Gbps)
	c.Update = timely.EachACK
	x, _ := timely.New(cc.Flow{MSS: 1000, Path: cc.Path{LineRate: 40 * unit.Gbps}}, c)
	x.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: 500 * unit.Microsecond}})
	x.OnAck(0, &cc.Ack{Packets: 1, Bytes: 1000, RTT: cc.RTT{Sample: 1000 * unit.Microsecond}}) // twice Thigh
	fmt.Println(x.Decision().Rate)
	// Output: 24Gbps
}
