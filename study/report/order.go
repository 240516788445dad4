package report

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// orderCurves orders curves, panels and words on the axis: as in the sweep, unless the file gives another order. It
// adds the panels and names to the figure.
func (x *plotBuilder) orderCurves() {
	var panels []string
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for _, d := range []*curveSet{&x.own, &x.sim} {
		for i := range d.curves {
			add(&x.names, d.curves[i].name)
			add(&panels, d.curves[i].panel)
		}
	}
	if first := x.Order; len(first) > 0 {
		byHeight := len(first) == 1 && (first[0] == "rising" || first[0] == "falling")
		if byHeight && x.own.words != nil {
			x.sortWords(first[0] == "falling")
		} else if byHeight {
			x.sortNames(first[0] == "falling")
		} else {
			before := func(names []string) func(i, j int) bool {
				return func(i, j int) bool { return orderRank(first, names[i]) < orderRank(first, names[j]) }
			}
			sort.SliceStable(x.names, before(x.names))
			sort.SliceStable(panels, before(panels))
			words := slices.Clone(x.own.words)
			sort.SliceStable(words, before(words))
			x.permuteWords(words)
		}
	}
	for _, p := range panels {
		x.findPanel(p)
	}
	for _, n := range x.names {
		x.Figure.Names = append(x.Figure.Names, x.displayName(n))
	}
	if x.own.panelPerCurve {
		x.names, x.Figure.Names = []string{""}, []string{""}
	}
}

// orderRank returns the index in words of a name, or of one of its parts; len(words) if it is not there.
func orderRank(words []string, name string) int {
	if i := slices.Index(words, name); i >= 0 {
		return i
	}
	for _, part := range strings.Split(name, " ") {
		if _, value, ok := strings.Cut(part, "="); ok {
			part = value
		}
		if i := slices.Index(words, part); i >= 0 {
			return i
		}
	}
	return len(words)
}

// permuteWords changes the order of the words on the axis in all worlds. words has the same words in another order;
// nil: no change.
func (x *plotBuilder) permuteWords(words []string) {
	if words == nil {
		return
	}
	for _, d := range []*curveSet{&x.own, &x.sim, &x.paper} {
		for i := range d.curves {
			for k, at := range d.curves[i].x {
				if int(at) < len(d.words) {
					d.curves[i].x[k] = float64(slices.Index(words, d.words[int(at)]))
				}
			}
		}
		d.words = words
	}
}

// sortWords sorts the words of the axis by the first curve's values, with falling the largest first. Words without a
// value come last. The values move with their words in all worlds.
func (x *plotBuilder) sortWords(falling bool) {
	height := map[string]float64{}
	for _, l := range x.own.curves[:min(1, len(x.own.curves))] {
		for k, at := range l.x {
			height[x.own.words[int(at)]] = l.y[k]
		}
	}
	words := slices.Clone(x.own.words)
	sort.SliceStable(words, func(i, j int) bool { return precedes(height, words[i], words[j], falling) })
	x.permuteWords(words)
}

// sortNames sorts the names of the curves by their means, with falling the largest first. Curves without a value come
// last.
func (x *plotBuilder) sortNames(falling bool) {
	height := map[string]float64{}
	for _, l := range x.own.curves {
		sum, n := 0.0, 0.0
		for _, y := range l.y {
			if !math.IsNaN(y) {
				sum, n = sum+y, n+1
			}
		}
		height[l.name] = sum / n
	}
	sort.SliceStable(x.names, func(i, j int) bool { return precedes(height, x.names[i], x.names[j], falling) })
}

// precedes reports whether name a comes before b by their heights, with falling the larger one first. Names without a
// value come last.
func precedes(height map[string]float64, a, b string, falling bool) bool {
	p, okP := height[a]
	q, okQ := height[b]
	okP, okQ = okP && !math.IsNaN(p), okQ && !math.IsNaN(q)
	if !okP || !okQ {
		return okP && !okQ
	}
	if falling {
		return p > q
	}
	return p < q
}
