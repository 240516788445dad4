package iperf_test

import (
	"fmt"

	"weir/worlds/lab/iperf"
)

func ExampleLoss_Share() {
	fmt.Println(iperf.Loss{Lost: 5, Total: 100}.Share(), iperf.Loss{}.Share())
	// Output: 0.05 0
}
