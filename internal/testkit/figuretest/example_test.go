package figuretest_test

import (
	"fmt"

	"weir/internal/testkit/figuretest"
	"weir/study/figure"
)

func Example() {
	f := figure.Figure{Title: "goodput over n", X: figure.NewAutoAxis("n"), Y: figure.NewAutoAxis("goodput [Mb/s]"),
		Names: []string{""}, Size: figure.ScreenSize(),
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{24, 23}}}}}}
	svg, err := f.Render("svg")
	if err != nil {
		fmt.Println(err)
		return
	}
	problems, err := figuretest.FindProblems(svg)
	fmt.Println(len(problems), err)
	// Output: 0 <nil>
}
