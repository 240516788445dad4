package report

import (
	"math"
	"slices"
	"strconv"

	"weir/study/experiment/plots"
	"weir/study/figure"
)

// heat makes a heat map: a measure by two sweep keys, by one and the groups, or over time.
func (all *worlds) heat(p plots.Plot) (*figure.Figure, error) {
	w := all.only(p.Means)
	points := w.own
	if len(points) == 0 {
		points = w.sim
	}
	if len(points) == 0 {
		return nil, nil
	}
	q := p // the same curves as another plot would have: a row each
	q.Drawn, q.Y, q.Lines = plots.KindHeat, p.Z, []string{p.Y}
	if p.Kind == plots.OverTime {
		q.Drawn = ""
	}
	x := &drawn{Plot: q, shown: map[string]bool{}}
	x.own = collect(q, points, false)
	if len(x.own.lines) == 0 {
		return nil, nil
	}
	if w.paper != nil && p.Kind == plots.OverSweep {
		x.paper = collect(q, w.paper, false)
	}
	x.order()
	x.yScale, x.xScale = scaleFor(x.own.unit, x.own.highest()), scaleFor(x.own.xUnit, largest(x.own.xs))
	if len(x.Figure.Panels) > 1 || x.own.words != nil {
		x.xScale = Scale{x.own.xUnit, 1}
	}
	if !x.cells() {
		return nil, nil
	}
	f := &x.Figure
	f.Y = figure.Auto(x.call(spoken(p.Y)))
	if p.YLabel != "" {
		f.Y.Label = p.YLabel
	}
	f.Y.Words, f.Names = f.Names, nil
	bar := axisOf(axis(x.call(spoken(p.Z)), x.yScale.Unit), p.ZLabel, p.ZRange, plots.Ticks{}, x.yScale, false)
	f.Bar, f.Legend = &bar, figure.NoLegend
	if x.crossed {
		f.Legend, f.Extra = figure.LegendPosition(p.Style.Legend), []figure.LegendEntry{{Name: paperName,
			Form: figure.Crosses, Series: -1}}
	}
	x.Plot = p
	x.heading()
	return f, nil
}

// cells fills the panels; false if no value is defined.
func (x *drawn) cells() (some bool) {
	columns := len(x.own.words)
	f := &x.Figure
	var times []float64
	unit := x.xScale.Unit
	if x.own.words == nil {
		times = slices.Compact(slices.Sorted(slices.Values(x.own.xs)))
		columns = len(times)
	}
	f.X = axisOf(axis(x.call(spoken(x.own.xName)), unit), x.XLabel, x.XRange, x.XTicks, x.xScale, false)
	if x.own.words != nil {
		f.X = figure.Auto(x.call(spoken(x.own.xName)))
		if x.XLabel != "" {
			f.X.Label = x.XLabel
		}
		for _, w := range x.own.words {
			f.X.Words = append(f.X.Words, x.call(w))
		}
	}
	decimals := 0
	if most := x.own.highest() * x.yScale.Factor; most > 0 {
		decimals = min(max(0, heatDigits-1-order(most)), mostDecimals)
	}
	for i := range f.Panels {
		h := &figure.Heat{Rows: len(x.names), Columns: columns, Values: undefinedCells(len(x.names) * columns),
			Label: func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }}
		if times != nil {
			h.Edges = edges(times, x.xScale.Factor)
			h.Label = func(float64) string { return "" }
		}
		for _, l := range x.own.lines {
			if l.panel != x.panels[i] {
				continue
			}
			row := slices.Index(x.names, l.name)
			for k, at := range l.x {
				column := int(at)
				if times != nil {
					column, _ = slices.BinarySearch(times, at)
				}
				h.Values[row*columns+column] = l.y[k] * x.yScale.Factor
				if some = some || !math.IsNaN(l.y[k]); !math.IsNaN(l.y[k]) {
					x.shown[l.name] = true
				}
			}
		}
		x.crosses(h, x.panels[i])
		f.Panels[i].Heat = h
	}
	return some
}

// heatDigits are those of the largest value of a heat map.
const heatDigits = 3

// undefinedCells are cells without a value.
func undefinedCells(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// crosses adds the paper's numbers to the cells of a panel.
func (x *drawn) crosses(h *figure.Heat, panel string) {
	for _, l := range x.paper.lines {
		row := slices.Index(x.names, l.name)
		for k, at := range l.x {
			if l.panel != panel || row < 0 || math.IsNaN(l.y[k]) || int(at) >= h.Columns {
				continue
			}
			if h.Paper == nil {
				h.Paper = undefinedCells(len(h.Values))
			}
			h.Paper[row*h.Columns+int(at)], x.crossed = l.y[k]*x.yScale.Factor, true
		}
	}
}

// edges are where the columns of some times begin, and where the last one ends.
func edges(times []float64, factor float64) (out []float64) {
	for _, t := range times {
		out = append(out, t*factor)
	}
	last := 1.0
	if n := len(out); n > 1 {
		last = out[n-1] - out[n-2]
	}
	return append(out, out[len(out)-1]+last)
}
