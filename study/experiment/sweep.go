package experiment

import (
	"slices"

	"weir/internal/document"
	"weir/study/measure"
)

// origins are where the values of a key of the sweep are given.
type origins struct {
	blocks []*document.Node // of each value, what it puts into the spec; nil for scalars
	places []document.Place
}

func sweepKeys(root *document.Node) []string {
	var keys []string
	for _, k := range top.Of(root).Entries("sweep") {
		keys = append(keys, k.Name)
	}
	return keys
}

// decodeSweep reads the sweep.
func (s *Spec) decodeSweep(d *decoder) {
	sweep := top.Of(d.tree).Get("sweep")
	if sweep == nil {
		return
	}
	if sweep.Kind != document.Mapping {
		d.Fail(sweep.Place, "{key: [value, …]} or {key: {name: {…}}}", "sweep is a map")
		return
	}
	for _, k := range top.Of(d.tree).Entries("sweep") {
		dim, from := measure.Dimension{Key: k.Name}, origins{}
		add := func(text string, at document.Place, block *document.Node) {
			v, ok := measure.ParseQuantity(text)
			dim.Values = append(dim.Values, measure.Coordinate{Key: k.Name, Text: text, Value: v, IsNum: ok})
			from.blocks = append(from.blocks, block)
			from.places = append(from.places, at)
		}
		switch k.Value.Kind {
		case document.List:
			for _, x := range k.Value.Items {
				if x.Kind != document.Scalar {
					d.Fail(x.Place, "", "a value of the sweep is a plain value; for blocks write a map of names")
					continue
				}
				add(x.Text, x.Place, nil)
			}
		case document.Mapping:
			for _, x := range k.Value.Keys {
				if x.Value.Kind != document.Mapping {
					d.Fail(x.Value.Place, "{switch: […], …}", "the block %q of the sweep is a map", x.Name)
					continue
				}
				for _, y := range x.Value.Keys {
					if slices.Contains(top.Names(ofFile, fixed), y.Name) {
						d.Fail(y.Place, "what decides one run", "%q cannot be varied by a sweep", y.Name)
					}
				}
				add(x.Name, x.Place, x.Value)
			}
		default:
			add(k.Value.Text, k.Value.Place, nil)
		}
		if len(dim.Values) == 0 {
			d.Fail(k.Value.Place, "", "the sweep of %q has no values", k.Name)
			continue
		}
		seen := map[string]bool{}
		for i, v := range dim.Values {
			if seen[v.Text] {
				d.Fail(from.places[i], "each value once", "the sweep of %q has the value %q twice", k.Name, v.Text)
			}
			seen[v.Text] = true
		}
		s.sweep, s.given = append(s.sweep, dim), append(s.given, from)
	}
}
