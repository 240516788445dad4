package report

import "weir/study/figure"

// BenchmarkCurve is a curve of LinesSVG with positive values.
type BenchmarkCurve struct {
	Name string
	X, Y []float64
}

// LinesSVG draws curves on logarithmic axes as an SVG; the vertical axis covers at least a decade. x and y are the
// axes' labels. It serves figures of benchmarks. It returns an error without a linked-in Drawer.
func LinesSVG(title, x, y string, lines []BenchmarkCurve) ([]byte, error) {
	f := figure.Figure{Title: title, X: figure.NewAutoAxis(x), Y: figure.NewAutoAxis(y), Size: figure.ScreenSize()}
	f.X.Log, f.Y.Log = true, true
	var marks []figure.Mark
	highest, lowest := 0.0, 0.0
	for i, l := range lines {
		f.Names = append(f.Names, l.Name)
		marks = append(marks, figure.Mark{Series: i, X: l.X, Y: l.Y})
		for _, v := range l.Y {
			if highest = max(highest, v); lowest == 0 || v < lowest {
				lowest = v
			}
		}
	}
	if lowest > highest/10 { // a range below a decade would exaggerate differences
		f.Y.Min = highest / 10
	}
	f.Panels = []figure.Panel{{Marks: marks}}
	return f.Render("svg")
}
