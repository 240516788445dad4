package results_test

import (
	"fmt"

	"weir/study/results"
)

// Simulator and lab agree if nine of ten points do.
func ExampleAgree() {
	inside, points, enough := results.Agree([]results.Agreement{{Measure: "goodput", Judged: true, Agrees: true}})
	fmt.Println(inside, "of", points, enough)
	// Output: 1 of 1 true
}
