package transport_test

import (
	"fmt"

	"weir/core/transport"
	"weir/core/unit"
)

// One-way delays of 100, 116, 100 and 148 µs: the jitter of RFC 3550 §6.4.1 is a
// sixteenth of 16, then of 16 and of 48 µs each less what was there.
func ExampleCounters_AddDelay() {
	c := transport.Counters{Received: transport.Received{DelayMin: unit.Never}}
	for _, d := range []unit.Time{100, 116, 100, 148} {
		c.AddDelay(d * unit.Microsecond)
	}
	fmt.Println(c.DelayMin, c.DelayMax, c.DelaySum/4, unit.Time(c.Jitter))
	// Output: 100us 148us 116us 4816.406ns
}
