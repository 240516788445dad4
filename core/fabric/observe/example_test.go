package observe_test

import (
	"fmt"

	"weir/core/fabric/observe"
	"weir/core/unit"
)

// ExampleOrderTracker counts the third packet as reordered, because it arrives after a packet that was sent later.
func ExampleOrderTracker() {
	var o observe.OrderTracker
	for _, sent := range []int{1, 3, 2, 4} {
		o.AddArrival(unit.Time(sent)*unit.Millisecond, true)
	}
	fmt.Printf("%d of %d reordered, by %d\n", o.Reordered, o.Arrived, o.Extent)
	// Output: 1 of 4 reordered, by 1
}
