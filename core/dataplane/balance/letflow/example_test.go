package letflow_test

import (
	"fmt"

	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/dataplanetest"
	"weir/core/unit"
)

// ExampleScheme keeps the uplink of a flow while its packets follow each other. After a gap the flow may move to
// another.
func ExampleScheme() {
	leaf, err := dataplanetest.NewSingleSwitch(letflow.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1,
		Leaves: 2, Up: 4},
		"gap", "100us")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range []unit.Time{0, 50 * unit.Microsecond, 100 * unit.Microsecond, 300 * unit.Microsecond, unit.Second} {
		p := leaf.NewPacket(dataplanetest.HostAddress(0, 0), dataplanetest.HostAddress(1, 0), 1, 1500)
		for _, left := range leaf.ReceivePacket(at, 0, p) {
			fmt.Printf("%v: port %d\n", at, left.Port)
		}
	}
	// Output:
	// 0s: port 4
	// 50us: port 4
	// 100us: port 4
	// 300us: port 5
	// 1s: port 2
}
