package parallel_test

import (
	"fmt"

	"weir/worlds/sim/parallel"
)

// ExampleGroup computes three parts of a sum, window by window.
func ExampleGroup() {
	sums := make([]int, 3)
	c := parallel.New(3, false, nil)
	for window := range 4 {
		c.Window(func(part int) { sums[part] += part * window })
	}
	c.End()
	fmt.Println(sums)
	// Output: [0 6 12]
}
