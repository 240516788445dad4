package measure

import (
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
)

// TestReductionOfAll checks the reduction of the first of a traffic's flows, and of the last of them. Only those count
// that had begun when congestion did and did not end before they reduced.
func TestReductionOfAll(t *testing.T) {
	never := unit.Never
	type flow struct{ start, fct, stop, reduced unit.Time }
	for _, x := range []struct {
		name       string
		flows      []flow
		first, all unit.Time
	}{
		{"both reduce", []flow{{0, never, 0, 30}, {5, never, 0, 20}}, 20, 30},
		{"one does not", []flow{{0, never, 0, 30}, {5, never, 0, never}}, 30, never},
		{"two came later", []flow{{0, never, 0, 30}, {11, never, 0, never}, {11, never, 0, 40}}, 30, 30},
		{"two ended", []flow{{0, never, 0, 30}, {5, 10, 0, never}, {5, never, 50, never}}, 30, 30},
		{"one would end after the run", []flow{{0, never, 0, 30}, {5, 90, 0, 40}, {0, never, 200, never}}, 30, never},
		{"nobody was there", []flow{{0, 5, 0, never}, {11, never, 0, 12}}, 12, never},
	} {
		t.Run(x.name, func(t *testing.T) {
			e := &Evaluation{Load: &outcome.Load{Flows: []outcome.Flow{{Group: 1}}}, Result: &outcome.Result{Time: 100,
				Flows: make([]outcome.FlowResult, 1)}}
			o := &outcome.OnsetResult{At: 10}
			for _, f := range x.flows {
				e.Load.Flows = append(e.Load.Flows, outcome.Flow{Stop: f.stop})
				e.Result.Flows = append(e.Result.Flows, outcome.FlowResult{Start: f.start, FCT: f.fct})
				o.Reduced = append(o.Reduced, f.reduced)
			}
			if got := (&reduction{completeness: "first"}).reductionTime(e, 0, o); got != x.first {
				t.Errorf("%v: the first at %v", x.flows, got)
			}
			if got := (&reduction{completeness: "all"}).reductionTime(e, 0, o); got != x.all {
				t.Errorf("%v: all at %v", x.flows, got)
			}
		})
	}
}
