package report

import (
	"math"
	"slices"
	"strconv"

	"weir/study/experiment/plots"
	"weir/study/figure"
)

// newHeatMap returns a heat map of a measure by two sweep keys, by one key and the groups, or over time; nil without
// values.
func (all *worlds) newHeatMap(p plots.Plot) (*figure.Figure, error) {
	w := all.selectPoints(p.Matches)
	points := w.own
	if len(points) == 0 {
		points = w.sim
	}
	if len(points) == 0 {
		return nil, nil
	}
	q := p // the curves of an equivalent line plot; each becomes a row
	q.DrawnAs, q.Y, q.Lines = plots.KindHeat, p.Z, []string{p.Y}
	if p.Kind == plots.OverTime {
		q.DrawnAs = ""
	}
	x := &plotBuilder{Plot: q, shown: map[string]bool{}}
	x.own = collectCurves(q, points, false)
	if len(x.own.curves) == 0 {
		return nil, nil
	}
	if w.paper != nil && p.Kind == plots.OverSweep {
		x.paper = collectCurves(q, w.paper, false)
	}
	x.orderCurves()
	x.yScale, x.xScale = scaleFor(x.own.unit, x.own.maxHeight()), scaleFor(x.own.xUnit, maxMagnitude(x.own.xs))
	if len(x.Figure.Panels) > 1 || x.own.words != nil {
		x.xScale = Scale{x.own.xUnit, 1}
	}
	if !x.fillCells() {
		return nil, nil
	}
	f := &x.Figure
	f.Y = figure.NewAutoAxis(x.displayName(readableName(p.Y)))
	if p.YLabel != "" {
		f.Y.Label = p.YLabel
	}
	f.Y.Words, f.Names = f.Names, nil
	bar := newAxis(axisLabel(x.displayName(readableName(p.Z)), x.yScale.Unit), p.ZLabel, p.ZRange, plots.Ticks{},
		x.yScale, false)
	f.ColourAxis, f.Legend = &bar, figure.NoLegend
	if x.hasPaper {
		f.Legend, f.ExtraEntries = figure.LegendPosition(p.Style.Legend), []figure.LegendEntry{{Name: paperName,
			Form: figure.Crosses, Series: -1}}
	}
	x.Plot = p
	x.addHeading()
	return f, nil
}

// fillCells adds a heat map of the own curves and the paper's numbers to each panel, sets the horizontal axis, and
// reports whether any value is defined. The curves must be ordered and the scales set.
func (x *plotBuilder) fillCells() (some bool) {
	columns := len(x.own.words)
	f := &x.Figure
	var times []float64
	unit := x.xScale.Unit
	if x.own.words == nil {
		times = slices.Compact(slices.Sorted(slices.Values(x.own.xs)))
		columns = len(times)
	}
	f.X = newAxis(axisLabel(x.displayName(readableName(x.own.xName)), unit), x.XLabel, x.XRange, x.XTicks, x.xScale, false)
	if x.own.words != nil {
		f.X = figure.NewAutoAxis(x.displayName(readableName(x.own.xName)))
		if x.XLabel != "" {
			f.X.Label = x.XLabel
		}
		for _, w := range x.own.words {
			f.X.Words = append(f.X.Words, x.displayName(w))
		}
	}
	decimals := 0
	if highest := x.own.maxHeight() * x.yScale.Factor; highest > 0 {
		decimals = min(max(0, heatDigits-1-decimalExponent(highest)), maxDecimals)
	}
	for i := range f.Panels {
		h := &figure.Heat{Rows: len(x.names), Columns: columns, Values: undefinedCells(len(x.names) * columns),
			Label: func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }}
		if times != nil {
			h.Edges = columnEdges(times, x.xScale.Factor)
			h.Label = func(float64) string { return "" }
		}
		for _, l := range x.own.curves {
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
		x.addPaperValues(h, x.panels[i])
		f.Panels[i].Heat = h
	}
	return some
}

// heatDigits is the number of digits of the largest value of a heat map.
const heatDigits = 3

// undefinedCells returns n cells without a value.
func undefinedCells(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// addPaperValues adds the paper's numbers to the cells of h, the panel with the given name, and then sets hasPaper.
// Values without a cell are left out.
func (x *plotBuilder) addPaperValues(h *figure.Heat, panel string) {
	for _, l := range x.paper.curves {
		row := slices.Index(x.names, l.name)
		for k, at := range l.x {
			if l.panel != panel || row < 0 || math.IsNaN(l.y[k]) || int(at) >= h.Columns {
				continue
			}
			if h.Reference == nil {
				h.Reference = undefinedCells(len(h.Values))
			}
			h.Reference[row*h.Columns+int(at)], x.hasPaper = l.y[k]*x.yScale.Factor, true
		}
	}
}

// columnEdges returns the start of each column, and the end of the last. times ascend and are multiplied by factor;
// there must be at least one.
func columnEdges(times []float64, factor float64) (out []float64) {
	for _, t := range times {
		out = append(out, t*factor)
	}
	last := 1.0
	if n := len(out); n > 1 {
		last = out[n-1] - out[n-2]
	}
	return append(out, out[len(out)-1]+last)
}
