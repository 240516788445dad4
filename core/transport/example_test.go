package transport_test

import (
	"fmt"

	"weir/core/transport"
	"weir/core/unit"
)

// ExampleCounters_AddDelay adds one-way delays of 100, 116, 100 and 148 µs. Each step of RFC 3550 §6.4.1 adds a
// sixteenth of the change, 16, 16 and 48 µs, less the previous jitter.
func ExampleCounters_AddDelay() {
	c := transport.Counters{Received: transport.Received{DelayMin: unit.Never}}
	for _, d := range []unit.Time{100, 116, 100, 148} {
		c.AddDelay(d * unit.Microsecond)
	}
	fmt.Println(c.DelayMin, c.DelayMax, c.DelaySum/4, unit.Time(c.Jitter))
	// Output: 100us 148us 116us 4816.406ns
}
