package flowtest_test

import (
	"fmt"

	"weir/core/transport/transporttest/flowtest"
)

// ExampleNewIncastFlow describes three senders that share one receiver.
func ExampleNewIncastFlow() {
	for id := range 3 {
		f := flowtest.NewIncastFlow(id, 64_000)
		fmt.Println(f.Src, "to", f.Dst, "port", f.DstPort, f.Size)
	}
	// Output:
	// 2 to 1 port 20 64kB
	// 3 to 1 port 21 64kB
	// 4 to 1 port 22 64kB
}
