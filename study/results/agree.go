package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

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
	if o.Counterpart == nil {
		return
	}
	var simulator object
	runs := []json.RawMessage{}
	for _, r := range o.Counterpart.Runs {
		runs = append(runs, r.Json(false))
	}
	claims := o.Counterpart.Claims
	if claims == nil {
		claims = []claim.Claim{}
	}
	if o.Counterpart.Chosen != nil {
		simulator.add("seeds", o.Counterpart.Chosen.json())
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
		if !math.IsNaN(a.Interval) {
			v.add("interval", a.Interval)
		}
		if a.Judged {
			v.add("verdict", a.Verdict)
		}
		if a.Upset {
			v.add("upset", true)
		}
		if a.Unmeasured {
			v.add("unmeasured", true)
		}
		values = append(values, v.bytes())
	}
	doc.add("agreement", array(values))
	var verdict object
	agreed := Agree(all)
	verdict.add("inside", agreed.Inside)
	verdict.add("apart", agreed.Apart)
	verdict.add("points", agreed.Points)
	verdict.add("verdict", agreed.Verdict)
	doc.add("agree", verdict.bytes())
}

// Agreement is how one value of one point of the sweep compares between simulator and
// lab: means over the seeds.
type Agreement struct {
	Point    []measure.Coordinate
	Measure  string // goodput, …
	Group    string // "" if the measure has none
	Unit     string
	Sim, Lab float64
	// Interval is half of the 95 % interval of the difference of the means, by the seeds of both worlds; NaN if
	// there is one seed in each.
	Interval float64
	// Judged values are those whose kind of measure says how near they have to be. They agree (claim.Holds) or differ
	// (claim.Fails) where the whole interval is within that, or none of it; else that is undecided: there are too few
	// seeds, or, with Upset, the machine disturbed a run or can have changed the lab's mean by as much.
	Judged  bool
	Verdict claim.Verdict
	Upset   bool
	// Unmeasured values would be judged, were they defined in all runs of both worlds: percentiles have at least ten
	// samples beyond them.
	Unmeasured bool
}

// judge compares two samples.
func (a *Agreement) judge(sim, lab []float64, near measure.Tolerance, upset float64) {
	difference, half := compare(sim, lab)
	a.Interval = half
	if a.Judged = near.Given(); !a.Judged {
		return
	}
	if math.IsNaN(difference) || math.IsInf(difference, 0) {
		a.Judged, a.Unmeasured = false, true
		return
	}
	if math.IsNaN(half) {
		half = 0 // the values are what there is to go by
	}
	least, most := near.Bounds(a.Sim)
	decide := func(half float64) claim.Verdict {
		switch {
		case difference-half >= least && difference+half <= most:
			return claim.Holds
		case difference-half > most || difference+half < least:
			return claim.Fails
		}
		return claim.Undecided
	}
	if a.Verdict = decide(half); a.Verdict != claim.Fails || upset == 0 {
		return
	}
	if a.Verdict = decide(half + upset); a.Verdict != claim.Fails {
		a.Verdict, a.Upset = claim.Undecided, true
	}
}

// compare gives by how much the mean of the second sample is above that of the first, and half of its 95 % interval by
// Student's t with the variance of both together, which a sample of one borrows from the other; NaN if both are of one.
func compare(a, b []float64) (difference, half float64) {
	mean := func(x []float64) (m, squares float64) {
		for _, v := range x {
			m += v / float64(len(x))
		}
		for _, v := range x {
			squares += float64((v - m) * (v - m))
		}
		return m, squares
	}
	ma, sa := mean(a)
	mb, sb := mean(b)
	na, nb := float64(len(a)), float64(len(b))
	freedom := na + nb - 2
	if freedom < 1 {
		return mb - ma, math.NaN()
	}
	t := claim.StudentQuantile(0.975, freedom)
	return mb - ma, t * math.Sqrt((sa+sb)/freedom*(1/na+1/nb))
}

// mayDisagree is the share of points of which a judged value may be outside.
const mayDisagree = 0.1

// Agreements compares the outcome, which is the lab's, with the simulator's beside it,
// over the points that both have; nil if there is nothing to compare. Points are in the
// order of the sweep, measures in that of the file.
func (o *Outcome) Agreements() []Agreement {
	if o.Counterpart == nil {
		return nil
	}
	type key struct{ point, measure, group string }
	type sum struct {
		of    []float64
		upset float64 // the largest share of a run's measured part
	}
	values := func(runs []*Run) (map[key]*sum, []Agreement) {
		at := map[key]*sum{}
		var order []Agreement
		for _, r := range runs {
			add := func(m *measure.Measured, group string, v float64) {
				k := key{measure.PointName(r.Point), m.Name, group}
				if at[k] == nil {
					at[k] = &sum{}
					order = append(order, Agreement{Point: r.Point, Measure: m.Name, Group: group, Unit: m.Unit})
				}
				at[k].of = append(at[k].of, v)
				if n := len(r.Attempts); n > 0 {
					at[k].upset = max(at[k].upset, r.Attempts[n-1].changed(o.Spec.Kind(m.Name).Queues))
				}
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
	simulated, _ := values(o.Counterpart.Runs)
	measured, all := values(o.Runs)
	var out []Agreement
	for _, a := range all {
		k := key{measure.PointName(a.Point), a.Measure, a.Group}
		s, l := simulated[k], measured[k]
		if s == nil {
			continue
		}
		a.Sim, _ = claim.MeanInterval(s.of)
		a.Lab, _ = claim.MeanInterval(l.of)
		kind := o.Spec.Kind(a.Measure)
		a.judge(s.of, l.of, kind.Nearness(a.Unit, a.Group), kind.Moved(a.Group, max(a.Sim, a.Lab), l.upset))
		out = append(out, a)
	}
	return out
}

// Agreed says in how many points simulator and lab agree.
type Agreed struct {
	Inside int // points all of whose judged values agree
	Apart  int // points of which a value differs
	Points int // with judged values in both worlds; the others of them are undecided
	// Verdict: one point in ten may differ; what is undecided may be so or so, and if there is no point all is.
	Verdict claim.Verdict
}

// Agree counts points by what is said of their values.
func Agree(all []Agreement) (a Agreed) {
	worst := map[string]claim.Verdict{}
	for _, x := range all {
		if !x.Judged {
			continue
		}
		name := measure.PointName(x.Point)
		switch was := worst[name]; {
		case was == claim.Fails || x.Verdict == claim.Fails:
			worst[name] = claim.Fails
		case was == claim.Undecided || x.Verdict == claim.Undecided:
			worst[name] = claim.Undecided
		default:
			worst[name] = claim.Holds
		}
	}
	for _, v := range worst {
		a.Points++
		switch v {
		case claim.Holds:
			a.Inside++
		case claim.Fails:
			a.Apart++
		}
	}
	may := mayDisagree * float64(a.Points)
	switch {
	case float64(a.Apart) > may:
		a.Verdict = claim.Fails
	case a.Points > 0 && float64(a.Points-a.Inside) <= may:
		a.Verdict = claim.Holds
	default:
		a.Verdict = claim.Undecided
	}
	return a
}

// String is the comparison in words.
func (a *Agreement) String() string {
	name := a.Measure
	if a.Group != "" {
		name += "." + a.Group
	}
	return fmt.Sprintf("%s %s: %s in the simulator, %s in the lab", measure.PointName(a.Point), name,
		measure.Quantity(a.Sim, a.Unit), measure.Quantity(a.Lab, a.Unit))
}
