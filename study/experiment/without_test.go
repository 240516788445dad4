package experiment_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// withoutSpec is a sweep of three rates by three programs, without three of its nine points.
var withoutSpec = strings.NewReplacer("[forward]", "[$how]",
	"sweep: {rate: [1Mbps, 2Mbps, 4Mbps]}", "sweep: {rate: [1Mbps, 2Mbps, 4Mbps], how: [forward, ecmp, spray]}").
	Replace(claimSpec) + `without:
  - {where: {how: spray, rate: [1Mbps, 4Mbps]}, why: nothing to share}
  - {where: "how == 'ecmp' and rate > 2Mbps", why: too fast}
tables: {columns: ["good*", queue.mean], sort: [rate, "goodput.a:desc"]}
ratio: [{of: goodput, over: {how: ecmp}}]
expect:
  - {id: other, says: x, that: goodput.a >= point(how='ecmp').goodput.a}
  - {id: next, says: x, along: rate, that: next.goodput.a > goodput.a}
`

// given are the points of a spec by their values.
func given(s *experiment.Spec) (names []string) {
	for _, p := range s.Points() {
		names = append(names, strings.ReplaceAll(strings.ReplaceAll(measure.PointName(p.Coordinates()), "rate=", ""),
			" how=", " "))
	}
	return names
}

// TestWithout_ExcludesPointsWithReason checks that points in without do not run, and are listed with their reason.
func TestWithout_ExcludesPointsWithReason(t *testing.T) {
	for _, x := range []struct {
		name   string
		o      experiment.Options
		points string
		absent string
	}{
		{"all", experiment.Options{}, "1Mbps forward, 1Mbps ecmp, 2Mbps forward, 2Mbps ecmp, 2Mbps spray, 4Mbps forward",
			"rate=1Mbps|4Mbps how=spray: nothing to share; rate=4Mbps how=ecmp: too fast"},
		{"narrowed", experiment.Options{Set: []string{"rate=1Mbps"}}, "1Mbps forward, 1Mbps ecmp",
			"how=spray: nothing to share"},
		{"none of it", experiment.Options{Set: []string{"how=forward"}}, "1Mbps forward, 2Mbps forward, 4Mbps forward", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := plantest.Load(t, room(), withoutSpec, x.o)
			if got := strings.Join(given(s), ", "); got != x.points {
				t.Errorf("points %s", got)
			}
			var absent []string
			for _, a := range s.OmittedPoints() {
				absent = append(absent, a.Describe(s.Sweep())+": "+a.Why)
			}
			if got := strings.Join(absent, "; "); got != x.absent {
				t.Errorf("left out %s", got)
			}
			runs := plan.ListRuns(s)
			if len(runs) != len(s.Points())*s.Repeat() {
				t.Errorf("%d runs", len(runs))
			}
			for k, r := range runs {
				if r.Number != k || r.Index != k/s.Repeat() || measure.PointName(r.Point) !=
					measure.PointName(s.Points()[r.Index].Coordinates()) {
					t.Errorf("run %d is %+v", k, r)
				}
			}
		})
	}
}

// TestWithoutRest checks that if options narrow a sweep to excluded points, their reason is the error.
func TestWithoutRest(t *testing.T) {
	e := wrong(t, withoutSpec, experiment.Options{Set: []string{"rate=4Mbps", "how=spray"}})
	if len(e) != 1 || !strings.Contains(e[0].Error(), "without leaves no point of the sweep: nothing to share") {
		t.Errorf("got %v", document.InputErrors(e))
	}
}

// TestClaimsWithout checks that claims and ratios neither use nor compare with excluded points: the others decide them.
func TestClaimsWithout(t *testing.T) {
	s := plantest.Load(t, room(), withoutSpec, experiment.Options{})
	var runs []claim.FinishedRun
	for k, r := range plan.ListRuns(s) {
		a := float64(1+k/s.Repeat()) * 1e6 // as the points are in order
		runs = append(runs, claim.FinishedRun{Seed: r.Seed, Point: r.Point,
			Values: &measure.Values{Measures: []measure.Measured{
				{Name: "goodput", Unit: "bps", Groups: []measure.GroupValue{{Group: "a", Value: a}, {Group: "b", Value: 1}}}}}})
	}
	for i, x := range []struct {
		verdict claim.Verdict
		n       int // runs, two a point
		text    string
	}{
		// ecmp with itself, spray at 2, forward twice
		{claim.Fails, 10, "rate=1Mbps how=forward: goodput.a = 1 Mb/s >= 2 Mb/s"},
		{claim.Holds, 10, "how=ecmp"}, // forward three times, ecmp twice
	} {
		c := s.JudgeClaims(runs, s.Repeat())[i]
		if c.Verdict != x.verdict || c.N != x.n || !strings.Contains(c.Measured, x.text) {
			t.Errorf("%s %s (n = %d): %s", c.ID, c.Verdict, c.N, c.Measured)
		}
	}
	for k, r := range s.Ratios(runs) {
		v, p := r[0].Groups[0].Value, measure.PointName(runs[k].Point)
		if defined := !strings.Contains(p, "rate=4Mbps"); defined == math.IsNaN(v) {
			t.Errorf("%s over ecmp is %v", p, v)
		}
	}
}

// TestConditionsWithout checks that programs are alternatives and rates are not, for any points.
func TestConditionsWithout(t *testing.T) {
	if got := plantest.Load(t, room(), withoutSpec, experiment.Options{}).Conditions(); !slices.Equal(got,
		[]string{"rate"}) {
		t.Errorf("conditions %v", got)
	}
}

// TestListing_HasColumnsAndOrder checks that the listing has the columns and the order of the file.
func TestListing_HasColumnsAndOrder(t *testing.T) {
	l := plantest.Load(t, room(), withoutSpec, experiment.Options{}).Listing()
	if !slices.Equal(l.Columns, []string{"good*", "queue.mean"}) || !slices.Equal(l.Sort, []string{"rate",
		"goodput.a:desc"}) {
		t.Errorf("got %+v", l)
	}
}
