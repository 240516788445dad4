package results

import "encoding/json"

// withoutJSON returns the points that are left out of the sweep because they have no meaning, grouped by reason; nil
// without any.
func (o *Outcome) withoutJSON() (out []json.RawMessage) {
	for _, a := range o.Spec.OmittedPoints() {
		var x jsonObject
		var points []json.RawMessage
		for _, p := range a.Points {
			var point jsonObject
			for _, c := range p {
				point.addKey(c.Key, c.Text)
			}
			points = append(points, point.finishJSON())
		}
		x.addKey("points", points)
		x.addKey("why", a.Why)
		out = append(out, x.finishJSON())
	}
	return out
}
