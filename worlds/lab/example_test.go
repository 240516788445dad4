package lab_test

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/lab"
	"weir/worlds/live"
)

// ExampleReport_Disturbed reports the machine's disturbances of a run in the lab, here with 20 ms of round-trip time,
// and the events that must not happen at all.
func ExampleReport_Disturbed() {
	r := lab.Report{Measured: unit.Second, Stall: 6 * unit.Millisecond, Steal: 0.03}
	r.Waits = []live.SchedulingDelay{{At: 300 * unit.Millisecond, Length: r.Stall}}
	r.Lateness.P99 = unit.Millisecond
	r.Gates.Partial = 2
	for _, why := range r.Disturbed(nil, 20*unit.Millisecond) {
		fmt.Println(why)
	}
	fmt.Println(r.Errors())
	// Output:
	// stalls disturbed 2.6 % of the time, the longest for 6.0 ms (the hypervisor took 3.0 % of all cores)
	// [2 frames arrived without a checksum]
}
