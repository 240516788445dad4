package drill_test

import (
	"fmt"

	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/dataplanetest"
	"weir/core/unit"
)

// ExampleScheme sends each packet of a leaf separately to one of its four uplinks.
func ExampleScheme() {
	leaf, err := dataplanetest.NewSingleSwitch(drill.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2,
		Up: 4},
		"d", "2", "m", "1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range unit.Time(4) {
		p := leaf.NewPacket(dataplanetest.HostAddress(0, 0), dataplanetest.HostAddress(1, 0), 1, 1500)
		for _, left := range leaf.ReceivePacket(i*unit.Millisecond, 0, p) {
			fmt.Println(left.Port >= 2, left.HopLimit)
		}
	}
	// Output:
	// true 63
	// true 63
	// true 63
	// true 63
}
