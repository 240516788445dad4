package figure_test

import (
	"bytes"
	"fmt"

	"weir/study/figure"
)

// One drawing gives all formats.
func ExampleFigure_Write() {
	f := figure.Figure{X: figure.Auto("n"), Y: figure.Auto("goodput [Mb/s]"), Size: figure.Print(252),
		Names: []string{"without", "abc"},
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{24, 33}},
			{Series: 1, X: []float64{1, 2}, Y: []float64{24, 24}}}}}}
	for _, format := range figure.Formats() {
		data, err := f.Write(format)
		fmt.Println(format, bytes.ContainsAny(data[:5], "?%P"), err)
	}
	// Output:
	// svg true <nil>
	// pdf true <nil>
	// png true <nil>
}
