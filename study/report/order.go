package report

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// order gives curves, panels and words on the axis their order: that of the sweep, unless the file says another.
func (x *drawn) order() {
	var panels []string
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for _, d := range []*drawing{&x.own, &x.sim} {
		for i := range d.lines {
			add(&x.names, d.lines[i].name)
			add(&panels, d.lines[i].panel)
		}
	}
	if first := x.Order; len(first) > 0 {
		byHeight := len(first) == 1 && (first[0] == "rising" || first[0] == "falling")
		if byHeight && x.own.words != nil {
			x.byHeight(first[0] == "falling")
		} else if byHeight {
			x.namesByHeight(first[0] == "falling")
		} else {
			before := func(names []string) func(i, j int) bool {
				return func(i, j int) bool { return rank(first, names[i]) < rank(first, names[j]) }
			}
			sort.SliceStable(x.names, before(x.names))
			sort.SliceStable(panels, before(panels))
			words := slices.Clone(x.own.words)
			sort.SliceStable(words, before(words))
			x.permute(words)
		}
	}
	for _, p := range panels {
		x.place(p)
	}
	for _, n := range x.names {
		x.Figure.Names = append(x.Figure.Names, x.call(n))
	}
	if x.own.each {
		x.names, x.Figure.Names = []string{""}, []string{""}
	}
}

// rank is the place of a name in an order, whole or by one of its parts; behind all if it is not there.
func rank(first []string, name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	for _, part := range strings.Split(name, " ") {
		if _, value, ok := strings.Cut(part, "="); ok {
			part = value
		}
		if i := slices.Index(first, part); i >= 0 {
			return i
		}
	}
	return len(first)
}

// permute puts the words of the axis into another order.
func (x *drawn) permute(words []string) {
	if words == nil {
		return
	}
	for _, d := range []*drawing{&x.own, &x.sim, &x.paper} {
		for i := range d.lines {
			for k, at := range d.lines[i].x {
				if int(at) < len(d.words) {
					d.lines[i].x[k] = float64(slices.Index(words, d.words[int(at)]))
				}
			}
		}
		d.words = words
	}
}

// byHeight sorts the words of the axis by the first curve's values.
func (x *drawn) byHeight(falling bool) {
	height := map[string]float64{}
	for _, l := range x.own.lines[:min(1, len(x.own.lines))] {
		for k, at := range l.x {
			height[x.own.words[int(at)]] = l.y[k]
		}
	}
	words := slices.Clone(x.own.words)
	sort.SliceStable(words, func(i, j int) bool { return lower(height, words[i], words[j], falling) })
	x.permute(words)
}

// namesByHeight sorts the curves by their means.
func (x *drawn) namesByHeight(falling bool) {
	height := map[string]float64{}
	for _, l := range x.own.lines {
		sum, n := 0.0, 0.0
		for _, y := range l.y {
			if !math.IsNaN(y) {
				sum, n = sum+y, n+1
			}
		}
		height[l.name] = sum / n
	}
	sort.SliceStable(x.names, func(i, j int) bool { return lower(height, x.names[i], x.names[j], falling) })
}

// lower reports whether a stands before b; what has no value stands behind.
func lower(height map[string]float64, a, b string, falling bool) bool {
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
