package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"weir/study/claim"
	"weir/study/measure"
)

// jsonList joins encoded JSON values to a JSON list.
func jsonList(items []json.RawMessage) json.RawMessage {
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

// addCounterpart adds the simulator's results and the agreement of the two worlds to a document of the lab. It adds
// nothing without a counterpart.
func (o *Outcome) addCounterpart(doc *jsonObject) {
	if o.Counterpart == nil {
		return
	}
	var simulator jsonObject
	runs := []json.RawMessage{}
	for _, r := range o.Counterpart.Runs {
		runs = append(runs, r.EncodeJSON(false))
	}
	claims := o.Counterpart.Claims
	if claims == nil {
		claims = []claim.Claim{}
	}
	if o.Counterpart.Chosen != nil {
		simulator.addKey("seeds", o.Counterpart.Chosen.encodeJSON())
	}
	simulator.addKey("runs", jsonList(runs))
	simulator.addKey("claims", claims)
	doc.addKey("simulator", simulator.finishJSON())
	all := o.Agreements()
	values := []json.RawMessage{}
	for _, a := range all {
		var v, point jsonObject
		for _, c := range a.Point {
			point.addKey(c.Key, c.Text)
		}
		v.addKey("point", point.finishJSON())
		m := measure.Measured{Name: a.Measure, Unit: a.Unit}
		v.addKey("measure", m.JSONName())
		if a.Group != "" {
			v.addKey("group", a.Group)
		}
		v.addKey("simulator", a.Sim)
		v.addKey("lab", a.Lab)
		if p, ok := o.Spec.PaperValue(a.Point, a.Measure, a.Group); ok {
			v.addKey("paper", p.Value)
		}
		v.addKey("judged", a.Judged)
		if !math.IsNaN(a.Interval) {
			v.addKey("interval", a.Interval)
		}
		if a.Judged {
			v.addKey("verdict", a.Verdict)
		}
		if a.Upset {
			v.addKey("upset", true)
		}
		if a.Unmeasured {
			v.addKey("unmeasured", true)
		}
		values = append(values, v.finishJSON())
	}
	doc.addKey("agreement", jsonList(values))
	var verdict jsonObject
	agreed := CountAgreements(all)
	verdict.addKey("inside", agreed.Inside)
	verdict.addKey("apart", agreed.Apart)
	verdict.addKey("points", agreed.Points)
	verdict.addKey("verdict", agreed.Verdict)
	doc.addKey("agree", verdict.finishJSON())
}

// Agreement compares one value of one point of the sweep between simulator and lab: means over the seeds.
type Agreement struct {
	Point    []measure.Coordinate
	Measure  string // goodput, …
	Group    string // "" if the measure has none
	Unit     string
	Sim, Lab float64
	// Interval is half of the 95 % interval of the difference of the means by the seeds of both worlds; NaN with one
	// seed in each.
	Interval float64
	// Judged reports whether the kind of measure has a tolerance. The value agrees (claim.Holds) if the whole interval
	// is within the tolerance, differs (claim.Fails) if all of it is outside, and is undecided otherwise: the seeds are
	// too few or, with Upset, the machine disturbed a run or may have changed the lab's mean by as much.
	Judged  bool
	Verdict claim.Verdict
	Upset   bool
	// Unmeasured reports that the value would be judged, but is not defined in all runs of both worlds: percentiles need
	// at least ten samples beyond them.
	Unmeasured bool
}

// judgeSamples compares the samples of both worlds and sets the verdict. a.Sim must be set. upset is the amount, in the
// measure's unit, by which the machine may have changed the lab's mean.
func (a *Agreement) judgeSamples(sim, lab []float64, tolerance measure.Tolerance, upset float64) {
	difference, half := compareMeans(sim, lab)
	a.Interval = half
	if a.Judged = tolerance.IsSet(); !a.Judged {
		return
	}
	if math.IsNaN(difference) || math.IsInf(difference, 0) {
		a.Judged, a.Unmeasured = false, true
		return
	}
	if math.IsNaN(half) {
		half = 0 // only the values themselves are known
	}
	lower, upper := tolerance.Bounds(a.Sim)
	decide := func(half float64) claim.Verdict {
		switch {
		case difference-half >= lower && difference+half <= upper:
			return claim.Holds
		case difference-half > upper || difference+half < lower:
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

// compareMeans returns the difference of the means of the samples, b − a, and half of its 95 % interval by Student's
// t with the pooled variance; NaN if both samples have one value. A sample of one value uses the other's variance.
func compareMeans(a, b []float64) (difference, half float64) {
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

// maxDisagreeing is the largest share of points with judged values outside of the tolerance.
const maxDisagreeing = 0.1

// Agreements compares the outcome of the lab with its counterpart from the simulator over the points that both have;
// nil without a counterpart. Points are in the order of the sweep, measures in the order of the file. Values that only
// the lab has are left out.
func (o *Outcome) Agreements() []Agreement {
	if o.Counterpart == nil {
		return nil
	}
	type key struct{ point, measure, group string }
	type sum struct {
		of    []float64
		upset float64 // largest share of a run's measured part
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
					at[k].upset = max(at[k].upset, r.Attempts[n-1].changedShare(o.Spec.Kind(m.Name).Queues))
				}
			}
			listed := r.AllMeasures()
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
		a.judgeSamples(s.of, l.of, kind.ToleranceFor(a.Unit, a.Group), kind.MaxChange(a.Group, max(a.Sim, a.Lab), l.upset))
		out = append(out, a)
	}
	return out
}

// AgreementCount counts the points in which simulator and lab agree.
type AgreementCount struct {
	Inside int // points with all judged values in agreement
	Apart  int // points with a differing value
	Points int // points with judged values in both worlds; those neither inside nor apart are undecided
	// Verdict allows one point in ten to differ. It is undecided while undecided points may change it, or without
	// points.
	Verdict claim.Verdict
}

// CountAgreements counts points by the verdicts of their judged values: a point with a differing value is apart.
func CountAgreements(agreements []Agreement) (a AgreementCount) {
	worst := map[string]claim.Verdict{}
	for _, x := range agreements {
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
	may := maxDisagreeing * float64(a.Points)
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

// String describes the compared values without the verdict.
func (a *Agreement) String() string {
	name := a.Measure
	if a.Group != "" {
		name += "." + a.Group
	}
	return fmt.Sprintf("%s %s: %s in the simulator, %s in the lab", measure.PointName(a.Point), name,
		measure.FormatQuantity(a.Sim, a.Unit), measure.FormatQuantity(a.Lab, a.Unit))
}
