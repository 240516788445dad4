package claim_test

import (
	"fmt"

	"weir/study/claim"
)

// ExampleMeanInterval judges a claim by the interval of its difference over the seeds.
func ExampleMeanInterval() {
	mean, half := claim.MeanInterval([]float64{9.8, 10.1, 10.4})
	fmt.Printf("%.2f ± %.2f\n", mean, half)
	// Output: 10.10 ± 0.75
}
