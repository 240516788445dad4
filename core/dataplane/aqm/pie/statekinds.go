package pie

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *queueState) state.Kinds {
		return state.Kinds{&x.measureStart: state.Instant, &x.activeSince: state.Instant}
	})
	state.Describe(func(x *program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
}
