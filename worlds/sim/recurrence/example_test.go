package recurrence_test

import (
	"fmt"

	"weir/core/state"
	"weir/core/unit"
	"weir/worlds/sim/recurrence"
)

// port is an object with state: a queue, its next sending time, and the packets sent.
type port struct {
	queue int
	next  unit.Time
	sent  uint64
}

func init() {
	state.Describe(func(x *port) state.Kinds { return state.Kinds{&x.next: state.Instant, &x.sent: state.Count} })
}

func ExampleTakeSnapshot() {
	p := port{queue: 0, next: 150, sent: 7}
	roots := []recurrence.Root{{Name: "leaf0", Value: &p}}
	before, _ := recurrence.TakeSnapshot(roots, 100, nil)
	p.next, p.sent = 1150, 99
	_, differs := recurrence.TakeSnapshot(roots, 1100, before)
	fmt.Printf("%q\n", differs)
	p.queue = 2
	_, differs = recurrence.TakeSnapshot(roots, 1100, before)
	fmt.Println(differs)
	// Output:
	// ""
	// leaf0.queue: 2, previously 0
}
