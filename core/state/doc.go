// Package state describes the fields of types that are compared at two moments: which of them are state, and which of
// them move with time. Package recurrence of the simulator compares the state of a network with it. Each package
// describes its types in one place, a function init in a file named statekinds.go:
//
//	func init() {
//		state.Describe(func(x *port) state.Kinds {
//			return state.Kinds{
//				&x.config: state.Ignored,
//				&x.next:   state.Instant,
//				&x.sent:   state.Count,
//			}
//		})
//	}
//
// A field without a row is compared as it is. That is safe: a counter or a pointer without a row makes two states
// differ, and iterations are then simulated that could be skipped. Only times and functions need a row. A time is an
// instant or a span, and the variables of a function are not visible. A test over all registered schemes reports those
// without a row, by type and field.
package state
