package crew_test

import (
	"fmt"

	"weir/worlds/sim/crew"
)

// Three parts of a sum, window by window.
func ExampleCrew() {
	sums := make([]int, 3)
	c := crew.New(3, false, nil)
	for window := range 4 {
		c.Window(func(part int) { sums[part] += part * window })
	}
	c.End()
	fmt.Println(sums)
	// Output: [0 6 12]
}
