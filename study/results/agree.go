package results

import (
	"bytes"
	"encoding/json"
	"fmt"

	"weir/study/claim"
	"weir/study/measure"
)

// array is a JSON list of what is JSON already.
func array(items []json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, x := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(x)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// besideJSON adds what a document of the lab has besides its runs and claims: the
// simulator's, and how the two agree.
func (o *Outcome) besideJSON(doc *object) {
	if o.Beside == nil {
		return
	}
	var simulator object
	runs := []json.RawMessage{}
	for _, r := range o.Beside.Runs {
		runs = append(runs, r.Json(false))
	}
	claims := o.Beside.Claims
	if claims == nil {
		claims = []claim.Claim{}
	}
	simulator.add("runs", array(runs))
	simulator.add("claims", claims)
	doc.add("simulator", simulator.bytes())
	all := o.Agreements()
	values := []json.RawMessage{}
	for _, a := range all {
		var v, point object
		for _, c := range a.Point {
			point.add(c.Key, c.Text)
		}
		v.add("point", point.bytes())
		m := measure.Measured{Name: a.Measure, Unit: a.Unit}
		v.add("measure", m.JSONName())
		if a.Group != "" {
			v.add("group", a.Group)
		}
		v.add("simulator", a.Sim)
		v.add("lab", a.Lab)
		if p, ok := o.Spec.PaperValue(a.Point, a.Measure, a.Group); ok {
			v.add("paper", p.Value)
		}
		v.add("judged", a.Judged)
		if a.Judged {
			v.add("agrees", a.Agrees)
		}
		values = append(values, v.bytes())
	}
	doc.add("agreement", array(values))
	var verdict object
	inside, points, enough := Agree(all)
	verdict.add("inside", inside)
	verdict.add("points", points)
	verdict.add("verdict", agreeVerdict(points, enough))
	doc.add("agree", verdict.bytes())
}

// agreeVerdict is that of simulator and lab agreeing.
func agreeVerdict(points int, enough bool) claim.Verdict {
	switch {
	case points == 0:
		return claim.Undecided
	case enough:
		return claim.Holds
	}
	return claim.Fails
}

// AgreeVerdict says whether simulator and lab agree in enough points: undecided if
// there is none that both have a judged value of.
func AgreeVerdict(all []Agreement) claim.Verdict {
	_, points, enough := Agree(all)
	return agreeVerdict(points, enough)
}

// Agreement is how one value of one point of the sweep compares between simulator and
// lab: means over the seeds.
type Agreement struct {
	Point    []measure.Coordinate
	Measure  string // goodput, …
	Group    string // "" if the measure has none
	Unit     string
	Sim, Lab float64
	// Judged values are those whose kind of measure says how near they have to be.
	Judged, Agrees bool
}

// MayDisagree is the share of points of which a judged value may be outside.
const MayDisagree = 0.1

// Agreements compares the outcome, which is the lab's, with the simulator's beside it,
// over the points that both have; nil if there is nothing to compare. Points are in the
// order of the sweep, measures in that of the file.
func (o *Outcome) Agreements() []Agreement {
	if o.Beside == nil {
		return nil
	}
	type key struct{ point, measure, group string }
	type sum struct {
		of float64
		n  int
	}
	means := func(runs []*Run) (map[key]*sum, []Agreement) {
		at := map[key]*sum{}
		var order []Agreement
		for _, r := range runs {
			add := func(m *measure.Measured, group string, v float64) {
				k := key{measure.PointName(r.Point), m.Name, group}
				if at[k] == nil {
					at[k] = &sum{}
					order = append(order, Agreement{Point: r.Point, Measure: m.Name, Group: group, Unit: m.Unit})
				}
				at[k].of += v
				at[k].n++
			}
			listed := r.Listed()
			for i := range listed {
				m := &listed[i]
				if m.Groups == nil {
					add(m, "", m.Value)
				}
				for _, g := range m.Groups {
					add(m, g.Group, g.Value)
				}
			}
		}
		return at, order
	}
	simulated, _ := means(o.Beside.Runs)
	measured, all := means(o.Runs)
	var out []Agreement
	for _, a := range all {
		k := key{measure.PointName(a.Point), a.Measure, a.Group}
		s, l := simulated[k], measured[k]
		if s == nil {
			continue
		}
		a.Sim, a.Lab = s.of/float64(s.n), l.of/float64(l.n)
		kind := o.Spec.Kind(a.Measure)
		near := kind.Nearness(a.Unit, a.Group)
		a.Judged, a.Agrees = near.Given(), near.Given() && near.Agree(a.Sim, a.Lab)
		out = append(out, a)
	}
	return out
}

// Agree says in how many points all judged values of simulator and lab agree, and whether that
// is enough: one point in ten may be outside.
func Agree(all []Agreement) (inside, points int, enough bool) {
	outside := map[string]bool{}
	for _, a := range all {
		if a.Judged {
			name := measure.PointName(a.Point)
			outside[name] = outside[name] || !a.Agrees
		}
	}
	for _, o := range outside {
		if points++; !o {
			inside++
		}
	}
	return inside, points, float64(points-inside) <= MayDisagree*float64(points)
}

// String is the comparison in words.
func (a *Agreement) String() string {
	name := a.Measure
	if a.Group != "" {
		name += "." + a.Group
	}
	return fmt.Sprintf("%s %s: %s in the simulator, %s in the lab", measure.PointName(a.Point), name, measure.SI(a.Sim)+
		a.Unit,
		measure.SI(a.Lab)+a.Unit)
}
