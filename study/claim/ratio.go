package claim

import (
	"math"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// Ratio is an entry of the ratio list, decoded: a measure divided by its value at a reference point of the sweep, with
// the same seed. What all points have in common for a seed, such as the flows that are drawn, cancels out.
type Ratio struct {
	Name      string // slowdown_ratio
	Of        string // slowdown
	reference selector
}

// RatioTable has the keys of a ratio.
var RatioTable = &document.Table{KeyNoun: "ratio key", Doc: "measures divided by those of a reference point",
	Keys: []document.Key{
		{Name: "of", Form: document.AnyOf("measure, or list of them", document.Value("measure"),
			document.ListOf(document.Value("measure"), "")), Doc: "measures to divide",
			Required: true, Example: "of: slowdown"},
		{Name: "over", Form: document.MapBy(document.Value("value"), "values by sweep key"), Doc: "values of the " +
			"reference point; other keys have the values of the current point",
			Required: true, Example: "over: {scheme: ecmp}"},
		{Name: "as", Form: document.Value("name"), Doc: "suffix of the ratio's name, after the measure's name and `_`",
			Default: "ratio",
			Source:  "Weir"},
	}}

// ReadRatios reads the ratio list. measures has the measures of runs. Errors go to d; after one the result is not
// complete.
func (s *View) ReadRatios(d *document.Reader, t *document.Node, measures []measure.Measured) (ratios []Ratio) {
	if t.Kind != document.List {
		d.Fail(t.Position, "[{of: slowdown, over: {scheme: ecmp}}]", "ratio is not a list")
		return nil
	}
	var words, taken []string
	for i := range measures {
		words = append(words, measures[i].Name)
	}
	taken = slices.Clone(words)
	for _, item := range t.Items {
		x, ok := d.ReadMap(item, RatioTable)
		if !ok {
			continue
		}
		measured, over := x.Get("of"), x.Get("over")
		if measured == nil {
			x.FailMissing("of", "the ratio needs the key \"of\"")
		}
		if over == nil {
			x.FailMissing("over", "the ratio needs the key \"over\"")
		}
		if measured == nil || over == nil {
			continue
		}
		reference, as := s.readReference(d, over), d.ReadText(x.GetDefault("as"))
		items := []*document.Node{measured}
		if measured.Kind == document.List {
			items = measured.Items
		}
		for _, m := range items {
			r := Ratio{Of: d.ReadWord(m, "measure", words), reference: reference}
			if r.Name = r.Of + "_" + as; slices.Contains(taken, r.Name) {
				d.Fail(m.Position, "another name with as: …", "the measure %s is given twice", r.Name)
			}
			taken, ratios = append(taken, r.Name), append(ratios, r)
		}
	}
	return ratios
}

// readReference reads the sweep values of a ratio's reference point. A key that is not given has the current point's
// value. Errors go to d.
func (s *View) readReference(d *document.Reader, t *document.Node) (sel selector) {
	for range s.Sweep {
		sel.values = append(sel.values, -1)
	}
	if !d.CheckKeys(t, "sweep key", s.sweepKeys()) {
		return sel
	}
	var words []string
	for _, k := range t.Keys {
		key := slices.Index(s.sweepKeys(), k.Name)
		if key < 0 {
			continue
		}
		text := d.ReadText(k.Value)
		words = append(words, text)
		sel.values[key] = slices.IndexFunc(s.Sweep[key].Values, func(v measure.Coordinate) bool { return v.Text == text })
		if sel.values[key] < 0 {
			sel.isRemoved = true
			s.checkValue(d, k.Name, k.Value)
		}
	}
	if len(t.Keys) == 0 {
		d.Fail(t.Position, document.JoinChoices(s.sweepKeys()),
			"over selects no reference point, so each point would be its own reference")
	}
	sel.name = strings.Join(words, ", ")
	return sel
}

// ReferenceName returns the reference in words: the sweep values by which it differs.
func (r *Ratio) ReferenceName() string { return r.reference.name }

// Shape returns the ratio's name with the groups of its measure, without values. For an unknown measure it has no
// groups.
func (r *Ratio) Shape(measures []measure.Measured) measure.Measured {
	for i := range measures {
		if measures[i].Name == r.Of {
			return r.divide(&measures[i], nil)
		}
	}
	return measure.Measured{Name: r.Name}
}

// divide returns the ratio of two values of a measure by group; NaN where the divisor is missing or 0. A nil divisor is
// missing everywhere. The result has no unit.
func (r *Ratio) divide(m, divisor *measure.Measured) measure.Measured {
	over := func(v, w float64) float64 {
		if w == 0 {
			return math.NaN()
		}
		return v / w
	}
	out := measure.Measured{Name: r.Name, Value: math.NaN()}
	if divisor != nil && m.Groups == nil && divisor.Groups == nil {
		out.Value = over(m.Value, divisor.Value)
	}
	if m.Groups != nil {
		out.Groups = []measure.GroupValue{}
	}
	for _, g := range m.Groups {
		v := math.NaN()
		if divisor != nil {
			for _, h := range divisor.Groups {
				if h.Group == g.Group {
					v = over(g.Value, h.Value)
				}
			}
		}
		out.Groups = append(out.Groups, measure.GroupValue{Group: g.Group, Value: v})
	}
	return out
}

// ComputeRatios returns the ratios of each run, in the order of runs; nil for a run without the measures. A ratio is
// NaN if the run at its reference point is missing. It changes runs: it adds to each the names of its ratios to a
// disturbed run.
func (s *View) ComputeRatios(ratios []Ratio, runs []FinishedRun) [][]measure.Measured {
	out := make([][]measure.Measured, len(runs))
	if len(ratios) == 0 {
		return out
	}
	index, number := indexSamples(runs), map[string]int{}
	for i, p := range s.Points {
		number[measure.PointName(p)] = i
	}
	for k := range runs {
		i, known := number[measure.PointName(runs[k].Point)]
		for j := range ratios {
			r := &ratios[j]
			m, by := runs[k].Values.FindMeasure(r.Of), (*measure.Measured)(nil)
			if m == nil {
				continue
			}
			if known {
				if there := s.selectPoint(&r.reference, i); there >= 0 {
					if x := index[measure.PointName(s.Points[there])][runs[k].Seed]; x != nil {
						if by = x.Values.FindMeasure(r.Of); x.Disturbed {
							runs[k].disturbedRatios = append(runs[k].disturbedRatios, r.Name)
						}
					}
				}
			}
			out[k] = append(out[k], r.divide(m, by))
		}
	}
	return out
}
