package hula_test

import (
	"fmt"

	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// ExampleScheme sends a leaf's probes through each of its ports: at the start, then once a period with a phase of its
// own.
func ExampleScheme() {
	leaf, err := dataplanetest.NewSingleSwitch(hula.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2,
		Up: 4},
		"probe", "200us")
	if err != nil {
		fmt.Println(err)
		return
	}
	probes := map[packet.PortID]int{}
	for _, left := range leaf.RunUntil(999 * unit.Microsecond) {
		if left.Kind == packet.Probe {
			probes[left.Port]++
		}
	}
	fmt.Println(probes)
	// Output:
	// map[2:6 3:6 4:6 5:6]
}
