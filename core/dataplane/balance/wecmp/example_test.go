package wecmp_test

import (
	"fmt"

	"weir/core/dataplane/balance/wecmp"
	"weir/core/dataplane/dataplanetest"
	"weir/core/unit"
)

// ExampleScheme balances over two ports: port 2 has three times the rate of port 3, and gets three times the flows.
func ExampleScheme() {
	rate := func(gbps unit.Rate) unit.LinkRate { return unit.LinkRate{Bits: gbps * unit.Gbps} }
	leaf, err := dataplanetest.NewSingleSwitch(wecmp.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2,
		Up:    2,
		Rates: []unit.LinkRate{rate(10), rate(10), rate(30), rate(10)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	flows := map[string]int{}
	for i := range 4000 {
		p := leaf.NewPacket(dataplanetest.HostAddress(0, 0), dataplanetest.HostAddress(1, 0), uint16(i), 1500)
		for _, left := range leaf.ReceivePacket(unit.Time(i)*unit.Millisecond, 0, p) {
			flows[fmt.Sprint("port ", left.Port)]++
		}
	}
	fmt.Println(flows)
	// Output:
	// map[port 2:2966 port 3:1034]
}
