package results_test

import (
	"fmt"

	"weir/study/claim"
	"weir/study/results"
)

// ExampleCountAgreements shows that simulator and lab agree if nine of ten points do.
func ExampleCountAgreements() {
	a := results.CountAgreements([]results.Agreement{{Measure: "goodput", Judged: true, Verdict: claim.Holds}})
	fmt.Println(a.Inside, "of", a.Points, a.Verdict)
	// Output: 1 of 1 holds
}
