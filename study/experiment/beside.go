package experiment

import (
	"bytes"
	"encoding/json"

	"weir/study/measure"
)

// AgreementRule says in words when simulator and lab agree: agreeShare, agreeBPS and
// mayDisagree (issue "The lab").
const AgreementRule = "within 10 % or 1 Mb/s; one in ten may be outside"

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
		runs = append(runs, r.json(false))
	}
	claims := o.Beside.Claims
	if claims == nil {
		claims = []Claim{}
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
func agreeVerdict(points int, enough bool) Verdict {
	switch {
	case points == 0:
		return Undecided
	case enough:
		return Holds
	}
	return Fails
}

// AgreeVerdict says whether simulator and lab agree in enough points: undecided if
// there is none that both have a goodput of.
func AgreeVerdict(all []Agreement) Verdict {
	_, points, enough := Agree(all)
	return agreeVerdict(points, enough)
}
