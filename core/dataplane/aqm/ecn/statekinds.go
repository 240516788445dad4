package ecn

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *marker) state.Kinds { return state.Kinds{&x.marked: state.Count} })
}
