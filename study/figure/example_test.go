package figure_test

import (
	"fmt"

	"weir/study/figure"
)

// ExampleFigure_CSV writes a figure's numbers without drawing it.
func ExampleFigure_CSV() {
	f := figure.Figure{X: figure.NewAutoAxis("n"), Y: figure.NewAutoAxis("goodput [Mb/s]"), Names: []string{"abc"},
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{24, 25}}}}}}
	data, err := f.CSV()
	fmt.Printf("%s%v\n", data, err)
	_, err = f.Render("svg")
	fmt.Println(err)
	// Output:
	// panel,series,shown_as,place,x,y,low,high,q1,median,q3,row
	// ,abc,line,,1,24,,,,,,
	// ,abc,line,,2,25,,,,,,
	// <nil>
	// the drawing of figures is not part of this program; to add it, import _ "weir/app/figure" in package main
}
