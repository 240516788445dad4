package draw_test

import (
	"bytes"
	"fmt"

	"weir/study/figure"
	"weir/study/figure/draw"
)

// ExampleDrawer draws a figure once and writes it in all formats.
func ExampleDrawer() {
	f := figure.Figure{X: figure.NewAutoAxis("n"), Y: figure.NewAutoAxis("goodput [Mb/s]"), Size: figure.PrintSize(252),
		Names: []string{"without", "abc"},
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{24, 33}},
			{Series: 1, X: []float64{1, 2}, Y: []float64{24, 24}}}}}}
	for _, format := range figure.Formats() {
		data, err := draw.Drawer{}.Draw(&f, format)
		fmt.Println(format, bytes.ContainsAny(data[:5], "?%P"), err)
	}
	// Output:
	// svg true <nil>
	// pdf true <nil>
	// png true <nil>
}
