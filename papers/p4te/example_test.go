package p4te_test

import (
	"fmt"

	"weir/papers/p4te"
)

// ExampleGradient reports a value that has changed by more than delta since the last report (P4TE §4.3).
func ExampleGradient() {
	depth := p4te.NewGradient([]int64{10})
	for _, packets := range []int64{3, 12, 20, 25, 14, 15, 2} {
		fmt.Printf("%d: %s\n", packets, [...]string{p4te.Unchanged: "nothing", p4te.Increase: "increase",
			p4te.Decrease: "decrease"}[depth.Observe(0, packets)])
	}
	// Output:
	// 3: nothing
	// 12: increase
	// 20: nothing
	// 25: increase
	// 14: decrease
	// 15: nothing
	// 2: decrease
}
