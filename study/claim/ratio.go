package claim

import (
	"math"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// Ratio is an entry of the ratio list, decoded: a measure over that of a reference point of the sweep, with
// the same seed. What all seeds have in common, such as the flows that are drawn, cancels out.
type Ratio struct {
	Name string // slowdown_ratio
	Of   string // slowdown
	over selector
}

// RatioTable are the keys of a ratio.
var RatioTable = &document.Table{What: "a ratio's key", Doc: "measures over those of a reference point",
	Keys: []document.Key{
		{Name: "of", Form: document.AnyOf("measure, or list of them", document.Value("measure"),
			document.ListOf(document.Value("measure"), "")), Doc: "what is divided", Required: true, Example: "of: slowdown"},
		{Name: "over", Form: document.MapBy(document.Value("value"), "values by sweep key"), Doc: "the reference: the " +
			"point with these values, and else those of the point in hand", Required: true, Example: "over: {scheme: ecmp}"},
		{Name: "as", Form: document.Value("name"), Doc: "its name is the measure's, `_` and this", Default: "ratio",
			Source: "ours"},
	}}

// DecodeRatios reads the ratio list. Measures are those that runs have.
func (s *View) DecodeRatios(d *document.Reader, t *document.Node, measures []measure.Measured) (ratios []Ratio) {
	if t.Kind != document.List {
		d.Fail(t.Position, "[{of: slowdown, over: {scheme: ecmp}}]", "ratio is a list")
		return nil
	}
	var words, taken []string
	for i := range measures {
		words = append(words, measures[i].Name)
	}
	taken = slices.Clone(words)
	for _, item := range t.Items {
		x, ok := d.Map(item, RatioTable)
		if !ok {
			continue
		}
		of, over := x.Get("of"), x.Get("over")
		if of == nil {
			x.Missing("of", "the ratio has no \"of\"")
		}
		if over == nil {
			x.Missing("over", "the ratio has no \"over\"")
		}
		if of == nil || over == nil {
			continue
		}
		reference, as := s.reference(d, over), d.Text(x.Default("as"))
		items := []*document.Node{of}
		if of.Kind == document.List {
			items = of.Items
		}
		for _, m := range items {
			r := Ratio{Of: d.Word(m, "measure", words), over: reference}
			if r.Name = r.Of + "_" + as; slices.Contains(taken, r.Name) {
				d.Fail(m.Position, "another name by as: …", "the measure %s is here already", r.Name)
			}
			taken, ratios = append(taken, r.Name), append(ratios, r)
		}
	}
	return ratios
}

// reference reads the values that a ratio's reference point has.
func (s *View) reference(d *document.Reader, t *document.Node) (sel selector) {
	for range s.Sweep {
		sel.values = append(sel.values, -1)
	}
	if !d.Keys(t, "sweep key", s.keys()) {
		return sel
	}
	var words []string
	for _, k := range t.Keys {
		at := slices.Index(s.keys(), k.Name)
		if at < 0 {
			continue
		}
		text := d.Text(k.Value)
		words = append(words, text)
		sel.values[at] = slices.IndexFunc(s.Sweep[at].Values, func(v measure.Coordinate) bool { return v.Text == text })
		if sel.values[at] < 0 {
			sel.gone = true
			s.checkValue(d, k.Name, k.Value)
		}
	}
	if len(t.Keys) == 0 {
		d.Fail(t.Position, document.Choices(s.keys()), "over names no point: each would be its own reference")
	}
	sel.name = strings.Join(words, ", ")
	return sel
}

// Over is the reference in words: the values that it differs by.
func (r *Ratio) Over() string { return r.over.name }

// Shape is the ratio's name, with the groups that its measure has and no values.
func (r *Ratio) Shape(measures []measure.Measured) measure.Measured {
	for i := range measures {
		if measures[i].Name == r.Of {
			return r.divided(&measures[i], nil)
		}
	}
	return measure.Measured{Name: r.Name}
}

// divided is a measure over another of its name; NaN for what is not there, and for what is over 0.
func (r *Ratio) divided(m, by *measure.Measured) measure.Measured {
	over := func(v, w float64) float64 {
		if w == 0 {
			return math.NaN()
		}
		return v / w
	}
	out := measure.Measured{Name: r.Name, Value: math.NaN()}
	if by != nil && m.Groups == nil && by.Groups == nil {
		out.Value = over(m.Value, by.Value)
	}
	if m.Groups != nil {
		out.Groups = []measure.Grouped{}
	}
	for _, g := range m.Groups {
		v := math.NaN()
		if by != nil {
			for _, h := range by.Groups {
				if h.Group == g.Group {
					v = over(g.Value, h.Value)
				}
			}
		}
		out.Groups = append(out.Groups, measure.Grouped{Group: g.Group, Value: v})
	}
	return out
}

// Ratios returns the ratios of each run, in the order of runs. It records in a run those over a disturbed run.
func (s *View) Ratios(ratios []Ratio, runs []FinishedRun) [][]measure.Measured {
	out := make([][]measure.Measured, len(runs))
	if len(ratios) == 0 {
		return out
	}
	at, number := sampled(runs), map[string]int{}
	for i, p := range s.Points {
		number[measure.PointName(p)] = i
	}
	for k := range runs {
		i, known := number[measure.PointName(runs[k].Point)]
		for j := range ratios {
			r := &ratios[j]
			m, by := runs[k].Values.Named(r.Of), (*measure.Measured)(nil)
			if m == nil {
				continue
			}
			if known {
				if there := s.pointOf(&r.over, i); there >= 0 {
					if x := at[measure.PointName(s.Points[there])][runs[k].Seed]; x != nil {
						if by = x.Values.Named(r.Of); x.Disturbed {
							runs[k].disturbedRatios = append(runs[k].disturbedRatios, r.Name)
						}
					}
				}
			}
			out[k] = append(out[k], r.divided(m, by))
		}
	}
	return out
}
