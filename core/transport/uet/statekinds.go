package uet

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *slowdown) state.Kinds {
		return state.Kinds{&x.every: state.Span, &x.nextChange: state.Instant}
	})
}
