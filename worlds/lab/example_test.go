package lab_test

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/lab"
)

// A run in the lab says by what the machine disturbed it, here with 20 ms of round-trip
// time, and what must not happen at all.
func ExampleReport_Disturbed() {
	r := lab.Report{Stall: 6 * unit.Millisecond, Steal: 0.03}
	r.Lateness.P999 = unit.Millisecond
	r.Gates.Partial = 2
	for _, why := range r.Disturbed(20 * unit.Millisecond) {
		fmt.Println(why)
	}
	fmt.Println(r.Errors())
	// Output:
	// a stall of 6.0 ms, more than a quarter of the round-trip time (20 ms)
	// 3.0 % of the cores' time stolen
	// [2 frames came without their checksum]
}
