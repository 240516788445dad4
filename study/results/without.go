package results

import "encoding/json"

// withoutJSON are the points that are left out of the sweep, for they have no meaning, by the reason; nil if there are
// none.
func (o *Outcome) withoutJSON() (out []json.RawMessage) {
	for _, a := range o.Spec.Without() {
		var x object
		var points []json.RawMessage
		for _, p := range a.Points {
			var point object
			for _, c := range p {
				point.add(c.Key, c.Text)
			}
			points = append(points, point.bytes())
		}
		x.add("points", points)
		x.add("why", a.Why)
		out = append(out, x.bytes())
	}
	return out
}
