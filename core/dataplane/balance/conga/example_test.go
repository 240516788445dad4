package conga_test

import (
	"fmt"

	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/dataplanetest"
)

// ExampleScheme configures CONGA for a leaf. CONGA needs a network of leaves and spines, and packets to another leaf
// carry its header.
func ExampleScheme() {
	leaf, err := dataplanetest.NewSingleSwitch(conga.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2,
		Up: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := leaf.NewPacket(dataplanetest.HostAddress(0, 0), dataplanetest.HostAddress(1, 0), 1, 1500)
	for _, left := range leaf.ReceivePacket(0, 0, p) {
		fmt.Println(left.Port >= 2, left.Size-1500, "bytes of header")
	}
	_, err = dataplanetest.NewSingleSwitch(conga.Scheme(), dataplanetest.SwitchPosition{Tiers: 3, Tier: 1, Leaves: 2,
		Up: 4})
	fmt.Println(err)
	// Output:
	// true 8 bytes of header
	// conga needs a leaf-spine network; this one has 3 tiers
}
