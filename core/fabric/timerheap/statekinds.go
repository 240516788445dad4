package timerheap

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Entry) state.Kinds { return state.Kinds{&x.At: state.Instant} })
}
