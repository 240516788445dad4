package plots_test

import (
	"fmt"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/experiment/plots"
	"weir/study/measure"
)

// ExampleDecoder_ParsePlot reads a plot from keys with their texts, such as flags', and from the names of a run's
// parameters and measures.
func ExampleDecoder_ParsePlot() {
	view := &claim.View{Sweep: []measure.Dimension{{Key: "rate"}}}
	names := &measure.Values{Measures: []measure.Measured{{Name: "goodput"}}}
	parse := func(y string) {
		d := plots.NewDecoder(document.NewReader(plots.FileKind), view, names, nil, 0)
		p, err := d.ParsePlot([]plots.Key{{Name: "x", Text: "rate", Place: "--x"}, {Name: "y", Text: y, Place: "--y"}})
		fmt.Println(p.Measure(), err)
	}
	parse("goodput")
	parse("godput")
	// Output:
	// goodput <nil>
	//  --y:1:1: unknown measure "godput"; did you mean "goodput"?; allowed: goodput
	//     godput
	//     ^
}
