package draw

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"weir/study/figure"
)

// mm is a millimetre in points.
const mm = float64(vg.Millimeter)

// The tests draw by figure's own methods.
func init() { figure.Drawing.Link(Drawer{}) }

// curves returns a figure with n series over 1, 2, 4, 8, 16.
func curves(n int) figure.Figure {
	f := figure.Figure{Title: "goodput over n", Note: "mean and 95 % interval, n = 5", X: figure.NewAutoAxis("n"),
		Y:    figure.NewAutoAxis("goodput [Mb/s]"),
		Size: figure.ScreenSize()}
	f.X.Log, f.X.SweepValues = true, []float64{1, 2, 4, 8, 16}
	p := figure.Panel{}
	for s := range n {
		m := figure.Mark{Series: s}
		for k := range 5 {
			y := 10 + 3*float64(s) + 4*math.Sin(float64(k+s))
			m.X, m.Y = append(m.X, math.Pow(2, float64(k))), append(m.Y, y)
			m.Low, m.High = append(m.Low, y-1), append(m.High, y+1)
		}
		f.Names = append(f.Names, fmt.Sprintf("scheme %d", s))
		p.Marks = append(p.Marks, m)
	}
	p.Marks = append(p.Marks, figure.Mark{Series: 0, Form: figure.Crosses, X: []float64{1, 16}, Y: []float64{20, 25}})
	f.ExtraEntries = []figure.LegendEntry{{Name: "paper", Form: figure.Crosses, Series: -1}}
	f.Panels = []figure.Panel{p}
	return f
}

// barred is a figure of bars over words.
func barred(series int, words ...string) figure.Figure {
	f := curves(series)
	f.X = figure.NewAutoAxis("scheme")
	f.X.Words, f.Y.IncludeZero, f.ExtraEntries = words, true, nil
	p := figure.Panel{}
	for s := range series {
		m := figure.Mark{Series: s, Form: figure.Bars}
		for k := range words {
			y := float64(1 + (k+s)%7)
			m.X, m.Y = append(m.X, float64(k)), append(m.Y, y)
			m.Low, m.High = append(m.Low, y-0.5), append(m.High, y+0.5)
		}
		p.Marks = append(p.Marks, m)
	}
	f.Panels = []figure.Panel{p}
	return f
}

// boxed has boxes in place of bars.
func boxed() figure.Figure {
	f := barred(3, "without", "abc", "codel")
	for i := range f.Panels[0].Marks {
		m := &f.Panels[0].Marks[i]
		m.Form, m.Low, m.High = figure.Boxes, nil, nil
		for _, y := range m.Y {
			m.Boxes = append(m.Boxes, figure.Box{Low: y - 0.8, Q1: y - 0.3, Median: y, Q3: y + 0.5, High: y + 2})
		}
	}
	return f
}

// overTime has series of 200 values.
func overTime(series, panels int, band bool) figure.Figure {
	f := figure.Figure{Title: "queue over time", X: figure.NewAutoAxis("time [s]"),
		Y:    figure.NewAutoAxis("queue [packets]"),
		Size: figure.ScreenSize()}
	for s := range series {
		f.Names = append(f.Names, fmt.Sprintf("s%d->server", s))
	}
	for i := range panels {
		p := figure.Panel{}
		if panels > 1 {
			p.Title = fmt.Sprintf("load=%d0%%", i+1)
		}
		for s := range series {
			m := figure.Mark{Series: s, SparseMarkers: true, Band: band}
			for k := range 200 {
				y := float64(5+s*3) + 3*math.Sin(float64(k)/10+float64(s+i))
				m.X, m.Y = append(m.X, float64(k)*0.05), append(m.Y, y)
				if band {
					m.Low, m.High = append(m.Low, y-2), append(m.High, y+2)
				}
			}
			p.Marks = append(p.Marks, m)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// stairs returns distributions with all shares above 0.9.
func stairs() figure.Figure {
	f := figure.Figure{Title: "distribution of queue", X: figure.NewAutoAxis("queue [packets]"),
		Y: figure.NewAutoAxis("share of values"), Size: figure.ScreenSize(),
		Names: []string{"a", "b", "c"}}
	f.Y.UpperBound = 1
	p := figure.Panel{}
	for s := range 3 {
		m := figure.Mark{Series: s, Form: figure.Steps}
		for k := range 30 {
			m.X, m.Y = append(m.X, float64(k)), append(m.Y, 1-0.09*math.Exp(-float64(k)/float64(5+s)))
		}
		p.Marks = append(p.Marks, m)
	}
	f.Panels = []figure.Panel{p}
	return f
}

// warm is a heat map with a value that is not defined.
func warm() figure.Figure {
	bar := figure.NewAutoAxis("goodput [Mb/s]")
	f := figure.Figure{Title: "goodput", X: figure.NewAutoAxis("n"), Y: figure.NewAutoAxis("load"), ColourAxis: &bar,
		Size: figure.ScreenSize()}
	f.X.Words, f.Y.Words = []string{"1", "2", "4", "8", "16"}, []string{"10%", "20%", "40%", "80%"}
	h := &figure.Heat{Rows: 4, Columns: 5, Label: func(v float64) string { return fmt.Sprintf("%.1f", v) }}
	for k := range 20 {
		h.Values = append(h.Values, float64(k)*1.7)
	}
	h.Values[7] = math.NaN()
	f.Panels = []figure.Panel{{Heat: h}}
	return f
}

// samples has a figure of every kind.
func samples() map[string]figure.Figure {
	var many []string
	for k := range 40 {
		many = append(many, fmt.Sprintf("category-%d", k))
	}
	paper := warm()
	paper.Panels[0].Heat.Reference = slices.Repeat([]float64{math.NaN()}, 20)
	for _, k := range []int{0, 7, 12, 19} { // of 7 there is no value of our own
		paper.Panels[0].Heat.Reference[k] = float64(k)*1.7 + 1
	}
	paper.ExtraEntries = []figure.LegendEntry{{Name: "paper", Form: figure.Crosses, Series: -1}}
	points, right := curves(3), overTime(2, 1, true)
	for i := range points.Panels[0].Marks {
		points.Panels[0].Marks[i].Form = figure.Points
	}
	right.Legend = figure.Right
	return map[string]figure.Figure{"lines": curves(3), "16 lines": curves(16), "points": points,
		"bars": barred(6, "without", "abc-long-name", "codel", "pie", "fq"), "16 bars": barred(16, "a", "b"),
		"many words": barred(1, many...), "boxes": boxed(), "time": overTime(6, 1, false), "band": right,
		"multiples": overTime(6, 5, false), "stairs": stairs(), "heat": warm(), "heat with paper": paper,
		"rows": rows(4, 3), "narrow rows": rows(20, 400)}
}

// rows returns a figure of two panels. In the first, each of the ranks does the given number of things one after the
// other.
func rows(ranks, parts int) figure.Figure {
	f := figure.Figure{Title: "what ranks do", Note: "seed 1, n = 1 of 1", X: figure.NewAutoAxis("time [ms]"),
		Y: figure.NewAutoAxis("rank"), Size: figure.ScreenSize(),
		States: []string{"waiting", "computing", "communicating", "both"}}
	for i := range 2 {
		r := &figure.Rows{}
		for k := range ranks - i {
			r.Names = append(r.Names, fmt.Sprintf("%d h%d", k, k+10*i))
			at := 0.0
			for n := range parts {
				to := at + 1 + 0.5*math.Sin(float64(n+k))
				r.Spans = append(r.Spans, figure.Span{Row: k, State: (n + k) % 4, From: at, To: to})
				at = to
			}
		}
		f.Panels = append(f.Panels, figure.Panel{Title: fmt.Sprintf("scheme=%d", i), Rows: r})
	}
	return f
}
