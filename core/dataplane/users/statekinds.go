package users

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Rate) state.Kinds { return state.Kinds{&x.last: state.Instant} })
}
