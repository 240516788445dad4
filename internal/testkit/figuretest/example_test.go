package figuretest_test

import (
	"fmt"

	"weir/internal/testkit/figuretest"
	"weir/study/figure"
)

func Example() {
	f := figure.Figure{Title: "goodput over n", X: figure.Auto("n"), Y: figure.Auto("goodput [Mb/s]"),
		Names: []string{""}, Size: figure.Screen(),
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{24, 23}}}}}}
	svg, err := f.Write("svg")
	if err != nil {
		fmt.Println(err)
		return
	}
	problems, err := figuretest.Problems(svg)
	fmt.Println(len(problems), err)
	// Output: 0 <nil>
}
