package report

import "weir/study/figure"

// Line is a curve of LinesSVG: points with values above 0.
type Line struct {
	Name string
	X, Y []float64
}

// LinesSVG draws curves on logarithmic axes, the vertical one over a decade at least: figures of benchmarks, not of
// experiments.
func LinesSVG(title, x, y string, lines []Line) ([]byte, error) {
	f := figure.Figure{Title: title, X: figure.Auto(x), Y: figure.Auto(y), Size: figure.Screen()}
	f.X.Log, f.Y.Log = true, true
	var marks []figure.Mark
	most, least := 0.0, 0.0
	for i, l := range lines {
		f.Names = append(f.Names, l.Name)
		marks = append(marks, figure.Mark{Series: i, X: l.X, Y: l.Y})
		for _, v := range l.Y {
			if most = max(most, v); least == 0 || v < least {
				least = v
			}
		}
	}
	if least > most/10 { // a range of less than a decade looks like more than it is
		f.Y.Min = most / 10
	}
	f.Panels = []figure.Panel{{Marks: marks}}
	return f.Write("svg")
}
