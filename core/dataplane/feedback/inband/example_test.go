package inband_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/tm"
	"weir/core/telemetry"
	"weir/core/unit"
)

// ExampleNew uses the format of HPCC's simulator, which has codes for the rates of the network's links. It refuses a
// port with another rate.
func ExampleNew() {
	f, err := telemetry.NewFormat("hpcc", 1, 1.05, []unit.Rate{25 * unit.Gbps, 100 * unit.Gbps})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rate := range []unit.Rate{100 * unit.Gbps, 3 * unit.Gbps} {
		port := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Bits: rate})
		_, err = inband.New(&dataplane.Site{Ports: 1, At: []*tm.Port{port}}, f, 0, 0)
		fmt.Println(rate, err)
	}
	// Output:
	// 100Gbps <nil>
	// 3Gbps program telemetry: format hpcc has no code for the rate 3Gbps of port 0
}
