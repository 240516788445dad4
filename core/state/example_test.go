package state_test

import (
	"fmt"
	"reflect"

	"weir/core/state"
)

// port is a type with state: when it sends next, and what it has sent.
type port struct {
	Queue, limit int
	next         int64
	sent         uint64
}

func init() {
	state.Describe(func(x *port) state.Kinds {
		return state.Kinds{&x.limit: state.Ignored, &x.next: state.Instant, &x.sent: state.Count}
	})
}

func ExampleDescribe() {
	kinds := state.KindsOf(reflect.TypeFor[port]())
	fmt.Println(kinds[0] == state.Plain, kinds[1] == state.Ignored, kinds[2] == state.Instant, kinds[3] == state.Count)
	// Output: true true true true
}
