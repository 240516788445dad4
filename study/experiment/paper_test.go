package experiment_test

import (
	"math"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

const withPaper = `paper:
  name: p
  source: figure 4
  values:
    - {where: {rate: "<= 1Mbps"}, goodput.a: 0.9Mbps, source: §6}
    - {where: {scheme: y, rate: 2Mbps}, goodput.a: 1.8Mbps, delay.a: 12.5ms, jain: 85%, queue.mean: 7.5 packets}
    - {where: {scheme: y, rate: 2Mbps}, goodput.a: 1.7Mbps, column: released, source: logs}
measure: [goodput, jain, delay, {queue: {port: s->c}}]
switch: [$program]
sweep:
  scheme: {x: {program: forward}, y: {program: ecmp}}
  rate: [1Mbps, 2Mbps]
`

// TestPaperValues checks that numbers of the paper are returned for their points, in base units, each with its source.
// Other points and measures have no number.
func TestPaperValues(t *testing.T) {
	s := plantest.Load(t, room(), small+smallTraffic+withPaper, experiment.Options{})
	at := func(scheme, rate string) []measure.Coordinate {
		for _, r := range plan.ListRuns(s) {
			if r.Point[0].Text == scheme && r.Point[1].Text == rate {
				return r.Point
			}
		}
		t.Fatal(scheme, rate)
		return nil
	}
	for _, c := range []struct {
		scheme, rate, measure, group string
		want                         float64 // 0: none
		unit, source                 string
	}{
		{"x", "1Mbps", "goodput", "a", 0.9e6, "bps", "§6"}, {"y", "1Mbps", "goodput", "a", 0.9e6, "bps", "§6"},
		{"y", "2Mbps", "goodput", "a", 1.8e6, "bps", "figure 4"}, {"y", "2Mbps", "delay", "a", 0.0125, "s", "figure 4"},
		{"y", "2Mbps", "jain", "", 0.85, "", "figure 4"}, {"y", "2Mbps", "queue", "mean", 7.5, "packets", "figure 4"},
		{"x", "2Mbps", "goodput", "a", 0, "", ""}, {"y", "1Mbps", "jain", "", 0, "", ""}, {"y", "2Mbps", "queue", "max",
			0, "", ""},
	} {
		t.Run(c.scheme+" "+c.rate+" "+c.measure+" "+c.group, func(t *testing.T) {
			v, ok := s.PaperValue(at(c.scheme, c.rate), c.measure, c.group)
			if ok != (c.want != 0) || math.Abs(v.Value-c.want) > 1e-9*c.want || v.Unit != c.unit || v.Source != c.source {
				t.Errorf("%s at scheme=%s rate=%s: %+v, %v, want %g %s", c.measure, c.scheme, c.rate, v, ok, c.want, c.unit)
			}
		})
	}
	if n := len(s.PaperValues()); n != 6 {
		t.Errorf("%d values, want 6", n)
	}
	// values of another column are separate from the paper's
	if c := s.PaperColumns(); len(c) != 2 || c[0] != experiment.PaperColumn || c[1] != "released" {
		t.Errorf("columns %v", c)
	}
	if v, ok := s.ColumnValue("released", at("y", "2Mbps"), "goodput", "a"); !ok || v.Value != 1.7e6 {
		t.Errorf("%+v of the released runs", v)
	}
}

// TestPaperValues_DoNotChangeRunIDs checks that the paper's numbers do not decide a run: ids are the same without them.
// A results folder keeps them.
func TestPaperValues_DoNotChangeRunIDs(t *testing.T) {
	s := plantest.Load(t, room(), small+smallTraffic+withPaper, experiment.Options{})
	_, rest, _ := strings.Cut(withPaper, "measure:")
	plain := plantest.Load(t, room(), small+smallTraffic+"measure:"+rest, experiment.Options{})
	for i, r := range plan.ListRuns(s) {
		if r.ID("x") != plan.ListRuns(plain)[i].ID("x") {
			t.Errorf("%s: another id", measure.PointName(r.Point))
		}
	}
	again, err := plan.Load(room(), file("spec.yaml", string(s.Resolved())), experiment.Options{Resolved: true})
	if err != nil || len(again.PaperValues()) != 6 {
		t.Errorf("of the resolved spec: %v", err)
	}
	some, err := plan.Load(room(), file("a.yaml", small+smallTraffic+withPaper),
		experiment.Options{Set: []string{"scheme=x"}})
	if err != nil {
		t.Errorf("a part of the sweep: %v", err)
	} else if _, err := plan.Load(room(), file("spec.yaml", string(some.Resolved())),
		experiment.Options{Resolved: true}); err != nil {
		t.Errorf("a part of the sweep, resolved: %v", err)
	}
}
