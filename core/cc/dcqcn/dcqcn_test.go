package dcqcn_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/dcqcn"
	"weir/core/unit"
	"weir/internal/testkit"
)

// rounding is the tolerance of rates, in bits per second.
var rounding = testkit.Tolerance{Relative: 1e-6, Absolute: 2}

const (
	us   = unit.Microsecond
	line = 40 * unit.Gbps
	g    = 1. / 256
)

func start(t testing.TB, c dcqcn.Config) *dcqcn.DCQCN {
	d, err := dcqcn.New(cctest.NewDatacentreFlow(1), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func cnp(d *dcqcn.DCQCN, now unit.Time) { d.OnNotice(now, cc.Notice{Kind: cc.CNPNotice}) }

// runTimers calls each timer that is due up to a time, at its time.
func runTimers(d *dcqcn.DCQCN, until unit.Time) {
	for next := d.Decision().NextTimer; next <= until; next = d.Decision().NextTimer {
		d.OnTimer(next)
	}
}

// TestDCQCN_CNPReducesByAlpha checks DCQCN §3.1: a flow starts at line rate. Equation 1: R_T = R_C, R_C = R_C·(1 −
// α/2), and only then α = (1 − g)·α + g, from α = 1. Equation 2: without a CNP for the timer's time, α = (1 − g)·α.
func TestDCQCN_CNPReducesByAlpha(t *testing.T) {
	d := start(t, dcqcn.PaperConfig())
	if d.Decision().Rate != line || d.Decision().NextTimer != unit.Never {
		t.Fatalf("start: %+v", d.Decision())
	}
	cnp(d, 0)
	testkit.CheckNear(t, "first CNP", d.Decision().Rate, 20e9, rounding)
	testkit.CheckNear(t, "its target", d.Target(), 40e9, rounding)
	cnp(d, 50*us)
	testkit.CheckNear(t, "second CNP", d.Decision().Rate, 10e9, rounding)
	testkit.CheckNear(t, "its target", d.Target(), 20e9, rounding)
	if d.Alpha() != 1 {
		t.Errorf("alpha after two CNPs within its timer: %v", d.Alpha())
	}
	// Alpha decays 55, 110 and 165 µs after the CNP, and an event at the CNP's own time is later.
	alpha, rate := math.Pow(1-g, 3), 0.
	runTimers(d, 220*us)
	rate = float64(d.Decision().Rate)
	cnp(d, 50*us+4*55*us)
	testkit.CheckNear(t, "after three periods", d.Decision().Rate, rate*(1-alpha/2), rounding)
	if want := alpha*(1-g) + g; math.Abs(d.Alpha()-want) > 1e-12 {
		t.Errorf("alpha: %v, want %v", d.Alpha(), want)
	}
	e := start(t, dcqcn.PaperConfig())
	cnp(e, 0)
	cnp(e, 55*us) // at the time of alpha's update, which is later
	testkit.CheckNear(t, "a CNP as alpha's timer ends", e.Decision().Rate, 10e9, rounding)
	d.OnNotice(300*us, cc.Notice{Kind: cc.NackNotice})
	testkit.CheckNear(t, "a NACK", d.Decision().Rate, rate*(1-alpha/2), rounding)
}

// TestIncreaseByTimer checks DCQCN figure 7, equations 3 and 4: F events of the timer are fast recovery, R_C = (R_C +
// R_T)/2. Then R_T first rises by R_AI; hyper increase needs both counters beyond F.
func TestIncreaseByTimer(t *testing.T) {
	c := dcqcn.PaperConfig()
	d := start(t, c)
	for i := range 3 { // down, so that the target stays below the line
		cnp(d, unit.Time(i)*50*us)
	}
	target, rate := 10e9, 5e9
	for n := 1; n <= 30; n++ {
		at := 100*us + unit.Time(n)*55*us
		if d.Decision().NextTimer != at {
			t.Fatalf("timer %d at %v, want %v", n, d.Decision().NextTimer, at)
		}
		d.OnTimer(at)
		if n > 5 {
			target += 40e6
		}
		rate = (rate + target) / 2
		testkit.CheckNear(t, fmt.Sprint("increase ", n), d.Decision().Rate, rate, rounding)
		testkit.CheckNear(t, fmt.Sprint("target ", n), d.Target(), target, rounding)
	}
}

// TestByteCounter checks DCQCN figure 7: the byte counter counts as the timer does. With both beyond F, R_T rises by
// R_HAI (hyper increase).
func TestByteCounter(t *testing.T) {
	c := dcqcn.PaperConfig()
	d := start(t, c)
	for i := range 3 {
		cnp(d, unit.Time(i)*50*us)
	}
	target, rate := 10e9, 5e9
	both := func(n int, step float64) {
		t.Helper()
		for range 9_999 {
			d.OnSend(101*us, cc.Sent{Bytes: 1000})
		}
		testkit.CheckNear(t, fmt.Sprint("10 MB less a packet, ", n), d.Decision().Rate, rate, rounding)
		d.OnSend(101*us, cc.Sent{Bytes: 1000})
		target += step
		rate = (rate + target) / 2
		testkit.CheckNear(t, fmt.Sprint("byte counter ", n), d.Decision().Rate, rate, rounding)
	}
	for n := range 5 {
		both(n, 0)
	}
	both(5, 40e6)
	for n := 1; n <= 6; n++ { // the timer follows: the larger counter is beyond F already
		d.OnTimer(100*us + unit.Time(n)*55*us)
		target += 40e6
		rate = (rate + target) / 2
		testkit.CheckNear(t, fmt.Sprint("timer ", n), d.Decision().Rate, rate, rounding)
	}
	both(6, 200e6) // T = BC = 6 > F
	d.OnTimer(100*us + 7*55*us)
	target += 40e6 // BC = 7, T = 6: both are
	target += 160e6
	rate = (rate + target) / 2
	testkit.CheckNear(t, "timer 7", d.Decision().Rate, rate, rounding)
	for range 5_000 { // which the CNP forgets
		d.OnSend(599*us, cc.Sent{Bytes: 1000})
	}
	cnp(d, 600*us)
	rate = float64(d.Decision().Rate)
	target = float64(d.Target())
	both(0, 0) // both counters begin anew: fast recovery
}

// TestDecreaseInterval checks that CNPs within a decrease interval raise only alpha.
func TestDecreaseInterval(t *testing.T) {
	c := dcqcn.PaperConfig()
	c.DecreaseInterval = 50 * us
	d := start(t, c)
	cnp(d, 0)
	for _, at := range []unit.Time{us, 10 * us, 50*us - 1} {
		cnp(d, at)
		testkit.CheckNear(t, fmt.Sprint("a CNP at ", at), d.Decision().Rate, 20e9, rounding)
	}
	cnp(d, 50*us)
	testkit.CheckNear(t, "a CNP at the interval's end", d.Decision().Rate, 10e9, rounding)
}

// TestDCQCN_VendorMatchesHPCCSimulator follows the HPCC simulator (rdma-hw.cc). After the first CNP alpha is updated
// each µs, from 1 on and with that CNP's flag cleared. Decreases are checked each 4 µs, 1 ns after alpha. F = 1: the
// increases are one of fast recovery, one additive, then hyper. Without CLAMP_TARGET_RATE the target remains if no
// increase followed the last decrease.
func TestDCQCN_VendorMatchesHPCCSimulator(t *testing.T) {
	d := start(t, dcqcn.VendorConfig(line))
	cnp(d, 100*us)
	testkit.CheckNear(t, "a CNP alone", d.Decision().Rate, 40e9, rounding)
	first := 104*us + unit.Nanosecond
	if d.Decision().NextTimer != first {
		t.Fatalf("the decrease is at %v, want %v", d.Decision().NextTimer, first)
	}
	runTimers(d, first)
	alpha := math.Pow(1-g, 4)
	rate := 40e9 * (1 - alpha/2)
	testkit.CheckNear(t, "first decrease", d.Decision().Rate, rate, rounding)
	// two CNPs in the same µs, one decrease at the next check
	cnp(d, 105500*unit.Nanosecond)
	cnp(d, 105600*unit.Nanosecond)
	if at := d.Decision().NextTimer; at != first+4*us {
		t.Fatalf("the second decrease is at %v, want %v", at, first+4*us)
	}
	runTimers(d, first+4*us)
	alpha = math.Pow(1-g, 5)    // 105 µs
	alpha = alpha*(1-g) + g     // 106 µs, with a CNP before it
	alpha *= math.Pow(1-g, 2.0) // 107, 108
	rate *= 1 - alpha/2
	testkit.CheckNear(t, "second decrease", d.Decision().Rate, rate, rounding)
	testkit.CheckNear(t, "its target", d.Target(), 40e9, rounding) // not lowered: nothing has increased
	if math.Abs(d.Alpha()-alpha) > 1e-12 {
		t.Errorf("alpha %v, want %v", d.Alpha(), alpha)
	}
	// a CNP after two increases lowers it
	runTimers(d, first+4*us+600*us)
	rate = (rate + 40e9) / 2
	rate = (rate + 40e9) / 2
	testkit.CheckNear(t, "two increases", d.Decision().Rate, rate, rounding)
	cnp(d, 800*us)
	runTimers(d, 805*us)
	testkit.CheckNear(t, "the target", d.Target(), rate, rounding)
	alpha *= math.Pow(1-g, 692) // 109 … 800: the CNP comes before the update of its µs
	alpha = alpha + g           // which is this one; the check is 1 ns later
	testkit.CheckNear(t, "third decrease", d.Decision().Rate, rate*(1-alpha/2), rounding)
	// F = 1: fast recovery, additive (1/5000 of the line), hyper (1/500)
	target := rate
	rate *= 1 - alpha/2
	at := d.Decision().NextTimer
	for n, step := range []float64{0, 8e6, 80e6, 80e6} {
		d.OnTimer(at + unit.Time(n)*300*us)
		target += step
		rate = (rate + target) / 2
		testkit.CheckNear(t, fmt.Sprintf("increase %d, target up by %g bit/s", n, step), d.Decision().Rate, rate, rounding)
	}
}

// TestDCQCN_IncreasesBeforeDecreaseInTie checks that an increase runs before a decrease if both are due at one time.
func TestDCQCN_IncreasesBeforeDecreaseInTie(t *testing.T) {
	d := start(t, dcqcn.VendorConfig(line))
	cnp(d, 0)
	runTimers(d, 5*us)
	rate := float64(d.Decision().Rate)
	cnp(d, 303*us) // the next check is at 304 µs + 1 ns, the increase as well
	if d.Decision().NextTimer != 304*us+unit.Nanosecond {
		t.Fatal(d.Decision().NextTimer)
	}
	d.OnTimer(d.Decision().NextTimer)
	testkit.CheckNear(t, "the target is what the increase left", d.Target(), (rate+40e9)/2, rounding)
	if next := d.Decision().NextTimer; next != 604*us+unit.Nanosecond {
		t.Errorf("the increase timer is not set anew: %v", next)
	}
}

// TestDCQCN_KeepsBoundsUnderRandomCNPs checks properties under random CNPs. The rate stays between its bounds and the
// target is never below it. No CNP raises the rate, and CNPs are never without effect for long. Timers never raise the
// rate above the line, no timer is in the past, and a late timer leads to the same state.
func TestDCQCN_KeepsBoundsUnderRandomCNPs(t *testing.T) {
	for name, c := range map[string]dcqcn.Config{"paper": dcqcn.PaperConfig(), "vendor": dcqcn.VendorConfig(line)} {
		t.Run(name, func(t *testing.T) {
			random := unit.NewRandom(1, name)
			d, late := start(t, c), start(t, c)
			now := unit.Time(0)
			for i := range 20000 {
				now += unit.Time(random.Int64N(int64(40 * us)))
				runTimers(d, now)
				if late.Decision().NextTimer <= now {
					late.OnTimer(now)
				}
				before := d.Decision().Rate
				if random.IntN(1+i/1000) == 0 {
					cnp(d, now)
					cnp(late, now)
					if d.Decision().Rate > before {
						t.Fatalf("%s: a CNP raises from %v to %v", name, before, d.Decision().Rate)
					}
				}
				if dec := d.Decision(); dec.Rate < c.MinRate || dec.Rate > line || d.Target() > line || d.Target() < dec.Rate ||
					dec.NextTimer <= now {
					t.Fatalf("%s: %+v, target %v at %v", name, dec, d.Target(), now)
				}
				if d.Alpha() <= 0 || d.Alpha() > 1 {
					t.Fatalf("%s: alpha %v", name, d.Alpha())
				}
				if d.Decision() != late.Decision() {
					t.Fatalf("%s: timers in time: %+v, late: %+v", name, d.Decision(), late.Decision())
				}
			}
			runTimers(d, now+unit.Second)
			if dec := d.Decision(); dec.Rate != line || dec.NextTimer != unit.Never {
				t.Errorf("%s: a second without CNPs leaves %+v", name, dec)
			}
		})
	}
}

// TestDCQCN_LaterCNPCutsNoDeeper checks that later CNPs never cut deeper: alpha only decays meanwhile.
func TestDCQCN_LaterCNPCutsNoDeeper(t *testing.T) {
	last := 1.0
	for gap := 50 * us; gap < 100*unit.Millisecond; gap += gap / 3 {
		d := start(t, dcqcn.PaperConfig())
		cnp(d, 0)
		runTimers(d, gap)
		before := d.Decision().Rate
		cnp(d, gap)
		cut := 1 - float64(d.Decision().Rate)/float64(before)
		if cut > last+1e-9 {
			t.Errorf("a CNP %v after another cuts by %v, a nearer one by %v", gap, cut, last)
		}
		last = cut
	}
}

// TestScheme_AppliesAndRejectsParameters checks presets, values that replace theirs, and values that are refused.
func TestScheme_AppliesAndRejectsParameters(t *testing.T) {
	first := func(given ...string) unit.Rate {
		c, err := cctest.BuildController(dcqcn.Scheme(), cctest.NewDatacentreFlow(1), given...)
		if err != nil {
			t.Fatal(given, err)
		}
		c.OnNotice(0, cc.Notice{Kind: cc.CNPNotice})
		for c.Decision().NextTimer <= 5*us {
			c.OnTimer(c.Decision().NextTimer)
		}
		return c.Decision().Rate
	}
	testkit.CheckNear(t, "paper", first(), 20e9, rounding)
	testkit.CheckNear(t, "vendor", first("preset", "vendor"), 40e9*(1-math.Pow(1-g, 4)/2), rounding)
	testkit.CheckNear(t, "vendor, at once", first("preset", "vendor", "reaction", "cnp"), 20e9, rounding)
	testkit.CheckNear(t, "g", first("preset", "vendor", "g", "50%"), 40e9*(1-1./32), rounding)
	testkit.CheckNear(t, "least rate", first("min_rate", "30Gbps"), 30e9, rounding)
	testkit.CheckNear(t, "line rate", first("line_rate", "10Gbps"), 5e9, rounding)
	testkit.CheckNear(t, "alpha's timer", first("preset", "vendor", "alpha_timer", "2us"), 40e9*(1-math.Pow(1-g, 2)/2),
		rounding)
	testkit.CheckNear(t, "increase timer", first("increase_timer", "4us"), 30e9, rounding)
	testkit.CheckNear(t, "increase timer, F = 0", first("increase_timer", "4us", "fast_recovery", "0", "line_rate",
		"40Gbps", "ai",
		"5Gbps"), 30e9, rounding)
	testkit.CheckNear(t, "a later check", first("preset", "vendor", "decrease_interval", "5us"), 40e9, rounding)
	for _, given := range [][]string{
		{"min_rate", "41Gbps"}, {"line_rate", "99Mbps"}, {"preset", "vendor", "line_rate", "500Mbps"},
		{"reaction", "interval"},
		{"window", "bdp", "min_rate", "50Gbps"},
	} {
		t.Run(strings.Join(given, " "), func(t *testing.T) {
			if _, err := cctest.BuildController(dcqcn.Scheme(), cctest.NewDatacentreFlow(1), given...); err == nil {
				t.Error("it is taken")
			}
		})
	}
	if _, err := cctest.BuildController(dcqcn.Scheme(), cctest.NewFlow(1)); err == nil {
		t.Error("a flow of unknown line rate is taken")
	}
	if _, err := cctest.BuildController(dcqcn.Scheme(), cctest.NewFlow(1), "line_rate", "1Gbps", "window",
		"bdp"); err == nil {
		t.Error("a window of an unknown RTT is taken")
	}
	// The timer alone: F = 1 and hyper increase from the third on; with both, never without bytes.
	hyper := func(given ...string) unit.Rate {
		c, err := cctest.BuildController(dcqcn.Scheme(), cctest.NewDatacentreFlow(1), append(given, "fast_recovery", "0",
			"ai", "1Mbps", "hai",
			"1Gbps", "clamp_target_rate", "true")...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			c.OnNotice(unit.Time(i)*us, cc.Notice{Kind: cc.CNPNotice})
		}
		for range 4 {
			c.OnTimer(c.Decision().NextTimer)
		}
		return c.Decision().Rate
	}
	if both, timer := hyper("increase", "both"), hyper("increase", "timer"); both > 400*unit.Mbps || timer < unit.Gbps {
		t.Errorf("four increases: %v with both counters, %v with the timer alone", both, timer)
	}
}

func ExampleNew() {
	d, _ := dcqcn.New(cc.Flow{MSS: 1000, Path: cc.Path{LineRate: 40 * unit.Gbps}}, dcqcn.PaperConfig())
	d.OnNotice(0, cc.Notice{Kind: cc.CNPNotice})
	fmt.Println(d.Decision().Rate, d.Decision().NextTimer)
	d.OnTimer(d.Decision().NextTimer)
	fmt.Println(d.Decision().Rate)
	// Output:
	// 20Gbps 55us
	// 30Gbps
}

// TestShareWarned checks the fixed point of Zhu et al. (CoNEXT'16) at the flows' share of a link: above one mark a
// packet there is a warning. A share of 147 Mb/s in frames of 1560 bytes is the limit of preset paper, 48 Mb/s at 1
// Gb/s of preset vendor. In an incast over 1 Gb/s, 24 flows of either preset lose nine packets of ten.
func TestShareWarned(t *testing.T) {
	for _, x := range []struct {
		preset string
		rate   unit.Rate
		flows  int
		fires  bool
	}{{dcqcn.Paper, unit.Gbps, 6, false}, {dcqcn.Paper, unit.Gbps, 7, true}, {dcqcn.Paper, 10 * unit.Gbps, 60, false},
		{dcqcn.Paper, 10 * unit.Gbps, 70, true}, {dcqcn.Paper, 100 * unit.Mbps, 1, true},
		{dcqcn.Paper, 100 * unit.Gbps, 1000, true}, {dcqcn.Paper, unit.Tbps, 1000, false},
		{dcqcn.Vendor, unit.Gbps, 20, false}, {dcqcn.Vendor, unit.Gbps, 24, true},
		{dcqcn.Vendor, 25 * unit.Gbps, 60, false}} {
		o := dcqcn.Options{Preset: x.preset, Reaction: "preset", Increase: "preset", ClampTarget: "preset",
			ByteCounter: 10 * unit.MB, FastRecovery: -1, MinRate: 1}
		p := cc.FlowPath{Path: cc.Path{NICRate: x.rate}, Flows: x.flows}
		p.NarrowLink = cc.Link{Port: "s->h0", Rate: x.rate, Payload: x.rate / 1560 * 1500}
		all := o.Check(&cc.FlowContext{MSS: 1500, Paths: []cc.FlowPath{p}})
		if fires := len(all) == 1 && all[0].Kind.ID == "dcqcn-increases"; fires != x.fires || len(all) > 1 {
			t.Errorf("%s, %v, %d flows: %v", x.preset, x.rate, x.flows, all)
		}
	}
}
