package experiment

import (
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// Absence is an entry of without: points of the sweep that have no meaning, and why.
type Absence struct {
	Points [][]measure.Coordinate
	Why    string
}

// Which names the points, by the keys in which they are not all of the sweep: scheme=ndp balance=ecmp|flowlets.
func (a *Absence) Which(sweep []measure.Dimension) string {
	words, product := []string{}, 1
	for k, dim := range sweep {
		var values []string
		for _, p := range a.Points {
			if !slices.Contains(values, p[k].Text) {
				values = append(values, p[k].Text)
			}
		}
		if product *= len(values); len(values) < len(dim.Values) {
			words = append(words, dim.Key+"="+strings.Join(values, "|"))
		}
	}
	if product == len(a.Points) && len(words) > 0 {
		return strings.Join(words, " ")
	}
	words = nil
	for _, p := range a.Points {
		words = append(words, measure.PointName(p))
	}
	return strings.Join(words, ", ")
}

// without is such an entry.
var without = &document.Table{What: "key of without", Doc: "points that have no meaning", Keys: []document.Key{
	{Name: "where", Form: where, Doc: "points that are left out", Required: true, Example: withoutExample},
	{Name: "why", Form: aText, Doc: "they have no meaning; reports say it", Required: true, Example: withoutExample},
}}

const withoutExample = "{where: {scheme: ndp, balance: ecmp}, why: NDP wants all paths}"

// absent is an entry that is read, with its place.
type absent struct {
	claim.Filter
	why string
	at  document.Place
}

// decodeWithout reads which points of the sweep are left out. Those of the whole sweep are known by number.
func (s *Spec) decodeWithout(d *decoder) {
	t := top.Of(d.tree).Get("without")
	if t == nil {
		return
	}
	switch {
	case t.Kind != document.List:
		d.Fail(t.Place, "["+withoutExample+"]", "without is a list")
		return
	case len(s.sweep) == 0:
		d.Fail(t.Place, "a sweep", "without a sweep there is one point, and nothing to leave out")
		return
	}
	view := claim.View{Sweep: s.sweep, Points: [][]measure.Coordinate{s.coordinates(0)}, Narrowed: s.narrowed()}
	for _, item := range t.Items {
		x, ok := d.Map(item, without)
		if !ok {
			continue
		}
		a := absent{at: item.Place}
		for _, key := range []string{"where", "why"} {
			if x.Get(key) == nil {
				x.Missing(key, "the entry of without has no %q", key)
			}
		}
		if w := x.Get("where"); w != nil {
			view.Where(d.Reader, &a.Filter, w)
		}
		if w := x.Get("why"); w != nil {
			a.why = d.Text(w)
		}
		s.leftOut = append(s.leftOut, a)
	}
}

// coordinates are the values of the sweep of combination i.
func (s *Spec) coordinates(i int) (at []measure.Coordinate) {
	for k, v := range s.indexOf(i) {
		at = append(at, s.sweep[k].Values[v])
	}
	return at
}

// leaves is the entry of without that leaves combination i out; −1: none does.
func (s *Spec) leaves(i int) int {
	if len(s.leftOut) == 0 {
		return -1
	}
	at := s.coordinates(i)
	return slices.IndexFunc(s.leftOut, func(a absent) bool { return a.Means(at) })
}

// kept are the combinations of the sweep that are not left out, of so many; false if none is, or an entry means none.
func (s *Spec) kept(d *decoder, combinations int) (kept []int, ok bool) {
	s.absences = make([]Absence, len(s.leftOut))
	for i := range combinations {
		k := s.leaves(i)
		if k < 0 {
			kept = append(kept, i)
			continue
		}
		s.absences[k].Why = s.leftOut[k].why
		s.absences[k].Points = append(s.absences[k].Points, s.coordinates(i))
	}
	for k := range s.absences {
		if len(s.absences[k].Points) == 0 && !s.narrowed() {
			d.Fail(s.leftOut[k].at, "points that no entry before it means", "without means no point of the sweep here")
			return nil, false
		}
	}
	s.absences = slices.DeleteFunc(s.absences, func(a Absence) bool { return len(a.Points) == 0 })
	if len(kept) == 0 {
		why := s.absences[0].Why
		d.Fail(top.Of(s.root).Get("without").Place, "a point that has a meaning", "no point is left of the sweep: %s", why)
		return nil, false
	}
	return kept, true
}

// Without are the points of the sweep that are left out, by the reason why they have no meaning.
func (s *Spec) Without() []Absence {
	out := slices.Clone(s.absences)
	for i := range out {
		out[i].Points = slices.Clone(out[i].Points)
	}
	return out
}

// narrowed reports whether options may have left out values of the sweep.
func (s *Spec) narrowed() bool { return s.quick || s.partial || len(s.set) > 0 }

// first is the first combination that is not left out, of so many; 0 if all are.
func (s *Spec) first(combinations int) int {
	for i := range combinations {
		if s.leaves(i) < 0 {
			return i
		}
	}
	return 0
}
