package red

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *queueState) state.Kinds { return state.Kinds{&x.idleSince: state.Instant} })
	state.Describe(func(x *Program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
}
