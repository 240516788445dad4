// Package state describes the fields of types whose values are compared at two moments: which of them are state, and
// which of them move with time. Package recurrence of the simulator compares the state of a network with it. Each
// package describes its types in one place, a function init in a file named statekinds.go:
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
// A field without a row is compared as it is. That is safe: a counter or a pointer that lacks its row makes two states
// differ, so that iterations are simulated which could be skipped. Only a time needs a row, since it is an instant or a
// span, and a function, since its variables are out of sight. A test over all registered schemes reports those that
// have no row, by type and field.
package state
