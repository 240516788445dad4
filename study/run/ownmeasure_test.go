package run

import (
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/report"
	"weir/study/results"
)

// ownHops is a measure that a user's own binary adds.
type ownHops struct{ measure.Plain }

func (ownHops) AddValues(e *measure.Evaluation) {
	e.Add(measure.Measured{Name: "hops", Unit: "packets", Value: float64(e.Result.PacketHops)})
}

// TestOwnMeasure checks that a registry with one more measure runs it, and shows it in results, claims and the
// schema like any other.
func TestOwnMeasure(t *testing.T) {
	r := room()
	r.Measures = append(r.Measures, measure.Definition{Name: "hops", Doc: "links that packets have crossed",
		New: func() measure.Measure { return ownHops{} }})
	s := plantest.LoadSource(t, r, plantest.NewSource("t.yaml", line+`
traffic: [{name: x, from: a, to: c, transport: udp, rate: 1Mbps}]
measure: [hops]
expect: [{id: far, says: two links each, that: hops > 100}]
`), experiment.Options{})
	o, err := Execute(t.Context(), s, Options{})
	if err != nil || len(o.Runs) != 1 || len(o.Claims) != 1 {
		t.Fatal(o, err)
	}
	if got := o.Runs[0].Measures[0]; got.Value != float64(o.Runs[0].PacketHops) || o.Claims[0].Verdict != claim.Holds {
		t.Errorf("%+v, %+v", got, o.Claims[0])
	}
	if !strings.Contains(string(o.JSON()), `"hops_packets"`) || !strings.Contains(string(r.WriteSchema()), `"hops"`) {
		t.Error("results or schema do not name it")
	}
}

// ownFates is a measure with groups, one of which has no packets.
type ownFates struct{ measure.Plain }

func (ownFates) AddValues(e *measure.Evaluation) {
	e.Add(measure.Measured{Name: "fates", Unit: "packets", Groups: []measure.GroupValue{
		{Group: "crossed", Value: float64(e.Result.PacketHops)}, {Group: "eaten", Value: 0}}})
}

// TestOwnMeasureTraits checks that the definition of a user's own measure decides its treatment: whether and how
// simulator and lab are compared, and whether tables leave out empty groups.
func TestOwnMeasureTraits(t *testing.T) {
	text := func(hops, fates measure.Definition, factor float64) string {
		t.Helper()
		r := room()
		hops.Name, hops.New = "hops", func() measure.Measure { return ownHops{} }
		fates.Name, fates.New = "fates", func() measure.Measure { return ownFates{} }
		r.Measures = append(r.Measures, hops, fates)
		s := plantest.LoadSource(t, r, plantest.NewSource("t.yaml", line+`
traffic: [{name: x, from: a, to: c, transport: udp, rate: 1Mbps}]
measure: [goodput, hops, fates]
`), experiment.Options{})
		o, err := Execute(t.Context(), s, Options{})
		if err != nil || len(o.Runs) != 1 {
			t.Fatal(o, err)
		}
		real := *o.Runs[0]
		real.Measures = append([]measure.Measured{}, real.Measures...)
		real.Measures[1].Value *= factor
		return report.FormatText(&results.Outcome{World: experiment.Lab, Spec: s, Runs: []*results.Run{&real},
			Counterpart: o})
	}
	near := measure.Definition{Tolerance: measure.Tolerance{Share: 0.05, Difference: 3}}
	both := "goodput within 10 % or 1 Mb/s, hops within 5 % or 3 packets;"
	for _, c := range []struct {
		name        string
		hops, fates measure.Definition
		factor      float64
		has, hasNot []string
	}{
		{"neither", measure.Definition{}, measure.Definition{}, 2,
			[]string{"agree in 1 of 1 points (within 10 % or 1 Mb/s;", "fates eaten"}, []string{"hops within"}},
		{"near", near, measure.Definition{}, 1.04, []string{"agree in 1 of 1 points", both}, []string{"outside:"}},
		{"not near", near, measure.Definition{}, 1.06, []string{"agree in 0 of 1 points", both, "outside: hops"}, nil},
		{"sparse", measure.Definition{}, measure.Definition{Sparse: true}, 1, []string{"fates crossed"},
			[]string{"fates eaten"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := text(c.hops, c.fates, c.factor)
			flat := strings.Join(strings.Fields(got), " ")
			for _, want := range c.has {
				if !strings.Contains(flat, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, not := range c.hasNot {
				if strings.Contains(flat, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
		})
	}
}
