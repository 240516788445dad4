package experiment_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

const claimSpec = small + smallTraffic + `switch: [forward]
sweep: {rate: [1Mbps, 2Mbps, 4Mbps]}
measure: [goodput, jain, {queue: {port: s->c}}]
`

// judged returns the verdict of a claim over made-up runs: goodput.a of seed k at point i is a[i][k].
func judged(t *testing.T, repeat, c string, a [][]float64) claim.Claim {
	t.Helper()
	text := strings.Replace(claimSpec, "repeat: 2", "repeat: "+repeat, 1) + "expect:\n  - {id: x, says: y, " +
		c + "}\n"
	s := plantest.Load(t, room(), text, experiment.Options{})
	var runs []claim.FinishedRun
	for k, r := range plan.ListRuns(s) {
		i, seed := k/s.Repeat(), k%s.Repeat()
		if i >= len(a) || seed >= len(a[i]) {
			continue
		}
		runs = append(runs, claim.FinishedRun{Seed: r.Seed, Point: r.Point,
			Values: &measure.Values{Measures: []measure.Measured{
				{Name: "goodput", Unit: "bps", Groups: []measure.GroupValue{{Group: "a", Value: a[i][seed]}, {Group: "b",
					Value: 10}}},
				{Name: "jain", Value: 0.5}}}})
	}
	return s.JudgeClaims(runs, s.Repeat())[0]
}

// TestVerdictsOfDisturbedRuns checks that a point at which the machine disturbed a run of the lab decides no claim. An
// undisturbed one can, and with for: some it is enough that one of these confirms the claim (review of the lab, F6).
//
// A ratio rests on two points, and either can be the disturbed one.
func TestVerdictsOfDisturbedRuns(t *testing.T) {
	for _, c := range []struct {
		name, claim string
		a           []float64 // by point
		disturbed   int       // the point
		want        claim.Verdict
		measured    string
	}{
		{"it would hold", "that: goodput.a < 5", []float64{1, 2, 4}, 0, claim.Undecided,
			"rate=1Mbps: goodput.a = 1 b/s < 5 b/s (the machine disturbed it)"},
		{"it would fail", "that: goodput.a < 4", []float64{1, 2, 4}, 2, claim.Undecided,
			"rate=4Mbps: goodput.a = 4 b/s < 4 b/s (the machine disturbed it)"},
		{"another point fails", "that: goodput.a < 4", []float64{9, 2, 4}, 0, claim.Fails,
			"rate=4Mbps: goodput.a = 4 b/s < 4 b/s"},
		{"it is of another point", "where: {rate: 2Mbps}, that: goodput.a < 4", []float64{1, 2, 4}, 0, claim.Holds, ""},
		{"one of some holds", "for: some, that: goodput.a > 3", []float64{1, 2, 4}, 0, claim.Holds, ""},
		{"the one of some", "for: some, that: goodput.a > 3", []float64{1, 2, 4}, 2, claim.Undecided, ""},
		{"its neighbour", "along: rate, that: next.goodput.a > goodput.a", []float64{1, 2, 4}, 2, claim.Undecided, ""},
		{"what a ratio divides by", "where: {rate: 2Mbps}, that: goodput_ratio.a > 1", []float64{1, 2, 4}, 0,
			claim.Undecided, ""},
		{"what a ratio divides", "where: {rate: 2Mbps}, that: goodput_ratio.a > 1", []float64{1, 2, 4}, 1,
			claim.Undecided, ""},
		{"what no ratio has", "where: {rate: 2Mbps}, that: goodput_ratio.a > 1", []float64{1, 2, 4}, 2, claim.Holds, ""},
		{"no ratio", "where: {rate: 2Mbps}, that: goodput.a > 1", []float64{1, 2, 4}, 0, claim.Holds, ""},
		{"a claim without a ratio fails", "where: {rate: 2Mbps}, that: goodput.a > 2", []float64{1, 2, 4}, 0, claim.Fails,
			""},
		{"the neighbour's ratio", "where: {rate: [2Mbps, 4Mbps]}, along: rate, that: next.goodput_ratio.a > 3",
			[]float64{1, 2, 4}, 0, claim.Undecided, ""},
		{"a ratio next to the neighbour", "where: {rate: [2Mbps, 4Mbps]}, along: rate, that: next.goodput.a > goodput.a",
			[]float64{1, 2, 4}, 0, claim.Holds, ""},
		{"the ratio of another point", "where: {rate: 2Mbps}, that: goodput.a > 1 and point(rate=4Mbps).goodput_ratio.a > 3",
			[]float64{1, 2, 4}, 0, claim.Undecided, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(claimSpec, "repeat: 2", "repeat: 1", 1)
			if strings.Contains(c.name, "ratio") || strings.Contains(c.claim, "ratio") {
				text += "ratio: [{of: goodput, over: {rate: 1Mbps}}]\n"
			}
			s := plantest.Load(t, room(), text+"expect:\n  - {id: x, says: y, "+c.claim+"}\n", experiment.Options{})
			var runs []*results.Run
			for i, r := range plan.ListRuns(s) {
				goodputs := []measure.GroupValue{{Group: "a", Value: c.a[i]}}
				x := &results.Run{Seed: r.Seed, Point: r.Point, Attempts: []results.Attempt{{}}, Values: measure.Values{
					Measures: []measure.Measured{{Name: "goodput", Unit: "bps", Groups: goodputs}}}}
				if i == c.disturbed { // the attempt that counts
					x.Attempts = append(x.Attempts, results.Attempt{Disturbed: []string{"a stall"}})
				} else { // one that was repeated
					x.Attempts = append([]results.Attempt{{Disturbed: []string{"a stall"}}}, x.Attempts...)
				}
				runs = append(runs, x)
			}
			got := results.JudgeClaims(s, runs, s.Repeat())[0]
			if got.Verdict != c.want || !strings.Contains(got.Measured, c.measured) || strings.HasSuffix(got.Measured,
				"disturbed it)") != (c.want == claim.Undecided) {
				t.Errorf("%s (%s), want %s (%s)", got.Verdict, got.Measured, c.want, c.measured)
			}
		})
	}
}

// TestJudgeClaims_ComparesIntervalWithBound checks verdicts by the interval over seeds, which lies on one side of the
// bound, or crosses it. The operators and, or, not are Kleene's, and every point must hold.
func TestJudgeClaims_ComparesIntervalWithBound(t *testing.T) {
	for _, c := range []struct {
		name, repeat, claim string
		a                   [][]float64
		want                claim.Verdict
		n                   int
		measured            string // a part of it
	}{
		{"one seed decides", "1", "that: goodput.a < 5", [][]float64{{1}, {2}, {4}}, claim.Holds, 3,
			"rate=4Mbps: goodput.a = 4 < 5"},
		{"one seed fails", "1", "that: goodput.a < 4", [][]float64{{1}, {2}, {4}}, claim.Fails, 3,
			"rate=4Mbps: goodput.a = 4 < 4"},
		{"or equal", "1", "that: goodput.a <= 4", [][]float64{{1}, {2}, {4}}, claim.Holds, 3, ""},
		{"interval inside", "3", "that: goodput.a < 5", [][]float64{{1, 2, 3}, {1, 2, 3}, {2, 2, 2}}, claim.Holds, 9, ""},
		// t(2, 0.975) = 4.303: mean 2, sd 1, half width 4.303/√3 = 2.484
		{"interval crosses", "3", "that: goodput.a < 4", [][]float64{{1, 2, 3}, {1, 1, 1}, {2, 2, 2}}, claim.Undecided, 9,
			"rate=1Mbps: goodput.a = 2 < 4 (difference -2 ± 2.484)"},
		{"interval outside", "3", "that: goodput.a < 4", [][]float64{{1, 2, 3}, {7, 8, 9}, {2, 2, 2}}, claim.Fails, 9,
			"rate=2Mbps: goodput.a = 8 < 4"},
		{"false and undecided is false", "3", "that: goodput.a < 4 and goodput.a > 9", [][]float64{{1, 2, 3}, {1, 2, 3},
			{1, 2, 3}}, claim.Fails, 9, ""},
		{"true or undecided is true", "3", "that: goodput.a < 4 or goodput.a < 9", [][]float64{{1, 2, 3}, {1, 2, 3},
			{1, 2, 3}}, claim.Holds, 9, ""},
		{"false or undecided", "3", "that: goodput.a < 4 or goodput.a > 9", [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}},
			claim.Undecided, 9, ""},
		{"not undecided", "3", "that: not (goodput.a < 4)", [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}},
			claim.Undecided, 9, ""},
		{"not", "1", "that: not (goodput.a < 1)", [][]float64{{1}, {2}, {4}}, claim.Holds, 3, ""},
		{"a chain", "1", "that: 0 < goodput.a < 3", [][]float64{{1}, {2}, {4}}, claim.Fails, 3, "goodput.a = 4 < 3"},
		{"differences are paired by seed", "3", "that: goodput.a + 1 > goodput.a", [][]float64{{1, 50, 900}, {1, 2, 3},
			{1, 2, 3}}, claim.Holds, 9, ""},
		{"where value", "1", "where: {rate: 2Mbps}, that: goodput.a == 2", [][]float64{{1}, {2}, {4}}, claim.Holds, 1, ""},
		{"where list", "1", "where: {rate: [1Mbps, 4Mbps]}, that: goodput.a != 2", [][]float64{{1}, {2}, {4}},
			claim.Holds, 2, ""},
		{"where comparison", "1", "where: {rate: \">= 0.002Gbps\"}, that: goodput.a >= 2", [][]float64{{1}, {2}, {4}},
			claim.Holds, 2, ""},
		{"where expression", "1", "where: rate > 1Mbps and rate < 4Mbps, that: goodput.a == 2", [][]float64{{1}, {2}, {4}},
			claim.Holds, 1, ""},
		{"sweep key is a number", "1", "that: goodput.a == rate / 1Mbps", [][]float64{{1}, {2}, {4}}, claim.Holds, 3, ""},
		{"units", "1", "that: goodput.a <= 50% * 8bps", [][]float64{{1}, {2}, {4}}, claim.Holds, 3, ""},
		{"along rises", "1", "along: rate, that: next.goodput.a > goodput.a and next.rate > rate", [][]float64{{1}, {2}, {4}},
			claim.Holds, 3, ""},
		{"along does not rise", "1", "along: rate, that: next.goodput.a > goodput.a", [][]float64{{1}, {2}, {1}},
			claim.Fails, 3, "rate=2Mbps: next.goodput.a = 1 > 2"},
		{"along skips what where leaves out", "1", "where: {rate: [1Mbps, 4Mbps]}, along: rate, that: next.goodput.a > " +
			"goodput.a and next.rate == 4 * rate", [][]float64{{2}, {1}, {3}}, claim.Holds, 2, ""},
		{"along is bounded by where", "1", "where: {rate: \"<= 2Mbps\"}, along: rate, that: next.goodput.a > goodput.a",
			[][]float64{{1}, {2}, {1}}, claim.Holds, 2, ""},
		{"another point", "1", "where: {rate: 4Mbps}, that: goodput.a > 3 * point(rate='1Mbps').goodput.a",
			[][]float64{{1}, {2}, {4}}, claim.Holds, 2, "goodput.a = 4 > 3"},
		{"another point, paired by seed", "3", "where: {rate: 4Mbps}, that: point(rate=2Mbps).goodput.a < goodput.a",
			[][]float64{{1, 1, 1}, {10, 500, 9000}, {11, 501, 9001}}, claim.Holds, 6, "point(rate=2Mbps).goodput.a"},
		{"another point fails", "1", "that: goodput.a <= point(rate='2Mbps').goodput.a", [][]float64{{1}, {2}, {4}},
			claim.Fails, 3, "rate=4Mbps: goodput.a = 4 <= 2"},
		{"another point is missing", "1", "where: {rate: 1Mbps}, that: goodput.a < point(rate='4Mbps').goodput.a",
			[][]float64{{1}, {2}}, claim.Undecided, 0, "missing"},
		{"some point is enough", "1", "for: some, that: goodput.a > 3", [][]float64{{1}, {2}, {4}}, claim.Holds, 3,
			"rate=4Mbps: goodput.a = 4 b/s > 3 b/s"},
		{"some point, and none has it", "1", "for: some, that: goodput.a > 5", [][]float64{{1}, {2}, {4}}, claim.Fails, 3,
			"rate=4Mbps: goodput.a = 4"},
		{"some point is enough when others are missing", "1", "for: some, that: goodput.a > 1", [][]float64{{1}, {2}},
			claim.Holds, 2, ""},
		{"none so far, and some are missing", "1", "for: some, that: goodput.a > 5", [][]float64{{1}, {2}},
			claim.Undecided, 2, "missing"},
		{"not defined", "1", "that: goodput.a > 0", [][]float64{{1}, {math.NaN()}, {4}}, claim.Undecided, 3, "not defined"},
		{"division by zero decides nothing", "3", "that: goodput.b / goodput.a > 5", [][]float64{{1, 1, 1}, {0, 0, 0},
			{1, 1, 1}}, claim.Undecided, 9, "rate=2Mbps: goodput.b / goodput.a is infinite for 3 of 3 seeds: goodput.a is 0"},
		{"a run is missing", "1", "that: goodput.a > 0", [][]float64{{1}, {2}}, claim.Undecided, 2, "missing"},
		{"a missing run does not save a claim", "1", "that: goodput.a > 1", [][]float64{{1}, {2}}, claim.Fails, 2, ""},
		{"nothing ran", "1", "that: goodput.a > 1", nil, claim.Undecided, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(t, c.repeat, c.claim, c.a)
			if got.Verdict != c.want || got.N != c.n || !strings.Contains(strings.ReplaceAll(got.Measured, " b/s", ""),
				strings.ReplaceAll(c.measured, " b/s", "")) {
				t.Errorf("got %s over %d runs: %s; want %s over %d: %s", got.Verdict, got.N, got.Measured, c.want, c.n, c.measured)
			}
		})
	}
}

// TestOtherPoints checks that other points are verified as sweep keys and measures are. Points that --quick omits leave
// the claim undecided.
func TestOtherPoints(t *testing.T) {
	for that, want := range map[string]string{
		"point(rat='1Mbps').jain > 0": "unknown sweep key in point(key=value) \"rat\"; did you " +
			"mean \"rate\"?",
		"point(rate='9Mbps').jain > 0":                       `the sweep key rate has no value "9Mbps"`,
		"point(rate='1Mbps').jane > 0":                       "\"jane\" is neither",
		"point(rate).jain > 0":                               "sweep key in point(key=value)",
		"point(rate='1Mbps').jain > point(rat='1Mbps').jain": "did you mean \"rate\"?",
	} {
		_, err := plan.Load(room(), file("t.yaml", claimSpec+"expect:\n  - {id: x, says: y, that: \""+that+"\"}\n"),
			experiment.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", that, err, want)
		}
	}
	text := claimSpec + "quick: {rate: [1Mbps, 4Mbps]}\nexpect:\n  - {id: x, says: y, where: {rate: 1Mbps}, that: jain " +
		"<= point(rate='2Mbps').jain}\n"
	if c := plantest.Load(t, room(), text, experiment.Options{Quick: true}).JudgeClaims(nil,
		1)[0]; c.Verdict != claim.Undecided {
		t.Errorf("got %+v", c)
	}
}

// TestClaimWithoutPoint checks that a claim is undecided if a quick run leaves no point for it. A claim about a point
// that the sweep lacks is an error.
func TestClaimWithoutPoint(t *testing.T) {
	text := claimSpec + "quick: {rate: [1Mbps, 4Mbps]}\nexpect:\n  - {id: x, says: y, where: {rate: 2Mbps}, " +
		"that: jain > 0}\n"
	s := plantest.Load(t, room(), text, experiment.Options{Quick: true})
	c := results.JudgeClaims(s, nil, s.Repeat())[0]
	if c.Verdict != claim.Undecided || !strings.Contains(c.Measured, "no point") {
		t.Errorf("got %+v", c)
	}
	wrong(t, claimSpec+"expect:\n  - {id: x, says: y, where: {rate: \"> 9Mbps\"}, that: jain > 0}\n", experiment.Options{})
}

// TestReplaceQuantities_GivesBaseUnits checks that quantities in expressions become numbers in base units. Words in
// quotes and the modulo operator stay.
func TestReplaceQuantities_GivesBaseUnits(t *testing.T) {
	for in, want := range map[string]string{
		"abs(x - 23.9Mbps) <= 4Mbps": "abs(x - 23900000) <= 4000000",
		"x<=10%":                     "x<=0.1",
		"97% * 50Mbps * 1448 / 1490": "0.97 * 50000000 * 1448 / 1490",
		"5ms+3ms+2us":                "0.005+0.003+0.000002",
		"10 % 3":                     "10 % 3",
		"10%3":                       "10%3",
		"n2s > p99":                  "n2s > p99",
		"cc == \"5ms\" and x > 5ms":  "cc == \"5ms\" and x > 0.005",
		"1e9 + 24kB":                 "1e9 + 24000",
	} {
		if got := claim.ReplaceQuantities(in); got != want {
			t.Errorf("units(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestMeanInterval checks Student's t for 95 %, e.g. t(2) = 4.3027, t(9) = 2.2622 (any table of the distribution).
func TestMeanInterval(t *testing.T) {
	for _, c := range []struct {
		x          []float64
		mean, half float64
	}{
		{[]float64{1, 2, 3}, 2, 4.30265273 / math.Sqrt(3)},
		{[]float64{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, 0.5, 2.26215716 * math.Sqrt(2.5/9/10)},
		{[]float64{5, 5}, 5, 0},
	} {
		t.Run(fmt.Sprintf("%d seeds around %v", len(c.x), c.mean), func(t *testing.T) {
			mean, half := claim.MeanInterval(c.x)
			if math.Abs(mean-c.mean) > 1e-9 || math.Abs(half-c.half) > 1e-7 {
				t.Errorf("%v: %v ± %v, want %v ± %v", c.x, mean, half, c.mean, c.half)
			}
		})
	}
}

// TestUnitsAgree checks that sides of one unit, of unknown units, and ambiguous numbers do not conflict.
func TestUnitsAgree(t *testing.T) {
	for _, that := range []string{"loss.a < 0.1 and delay.a < 100ms",
		"goodput.a > 5e6 and abs(goodput.a - 23.9Mbps) <= 4Mbps", "loss.a < 10%", "jain > 95% and jain - 0.5 > 1%",
		"goodput.a / goodput.b > 50%", "goodput.a / 8Mbps - 1 < 5%", "goodput.a / rate > 50%", "goodput.a > 0.5 * goodput.b",
		"goodput.a / rate > 0.5", "goodput.a < rate", "8 * 1kB / delay.a > goodput.a",
		"goodput.a + goodput.b >= 97% * 10Mbps",
		"delay.a * goodput.a < 1MB", "delay.a < 1ms + 1us and delay.a >= 0.001s"} {
		t.Run(that, func(t *testing.T) {
			plantest.Load(t, room(),
				small+smallTraffic+"switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\nmeasure: [goodput, delay, loss, "+
					"jain]\nexpect: [{id: a, says: b, that: \""+that+"\"}]\n", experiment.Options{})
		})
	}
}

// TestUnitsClash checks that values that cannot be compared, such as a rate and a time, are an error of the file, and
// not a claim that always holds.
func TestUnitsClash(t *testing.T) {
	for that, want := range map[string]string{
		"goodput.a > 5ms":                    "the sides of > are in bit/s and s",
		"0.2 > loss.a and 100ms < goodput.a": "the sides of < are in s and bit/s",
		"delay.a < goodput.a":                "the sides of < are in s and bit/s",
		"abs(goodput.a - 10%) < 1Mbps":       "the sides of - are in bit/s and plain numbers",
		"not (jain >= 95kB)":                 "the sides of >= are in plain numbers and bytes",
		"goodput.a > 1Mbps or delay.a > 7kB": "the sides of > are in s and bytes",
	} {
		t.Run(that, func(t *testing.T) {
			e := wrong(t, small+smallTraffic+"switch: [forward]\nsweep: {rate: [1Mbps]}\nmeasure: [goodput, delay, loss, "+
				"jain]\nexpect: [{id: a, says: b, that: \""+that+"\"}]\n", experiment.Options{})
			if !strings.Contains(e.Error(), want+"; allowed: quantities in the same unit on both sides") {
				t.Errorf("%s: %v", that, e)
			}
		})
	}
}
