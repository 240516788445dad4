package transport

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *PullPacer) state.Kinds { return state.Kinds{&x.next: state.Past} })
}
