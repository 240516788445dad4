package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a curve of LinesSVG: points with values above 0.
type Line struct {
	Name string
	X, Y []float64
}

// LinesSVG draws curves on logarithmic axes, the vertical one from 1: figures of benchmarks, not of experiments.
func LinesSVG(title, x, y string, lines []Line) ([]byte, error) {
	pl := newPlot()
	pl.Title.Text, pl.X.Label.Text, pl.Y.Label.Text = title, x, y
	pl.X.Scale, pl.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	pl.Y.Scale, pl.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	pl.Add(plainGrid())
	var entries []entry
	for i, l := range lines {
		points := make(plotter.XYs, len(l.X))
		for k := range points {
			points[k] = plotter.XY{X: l.X[k], Y: l.Y[k]}
		}
		curve, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		curve.Color, curve.Width = palette[i%len(palette)], vg.Points(1.5)
		marks.Color, marks.Shape, marks.Radius = curve.Color, draw.CircleGlyph{}, vg.Points(3)
		pl.Add(curve, marks)
		entries = append(entries, entry{l.Name, []plot.Thumbnailer{curve, marks}})
	}
	pl.Y.Min = min(pl.Y.Min, pl.Y.Max/10) // a range of less than a decade looks like more than it is
	return render(pl, entries)
}
