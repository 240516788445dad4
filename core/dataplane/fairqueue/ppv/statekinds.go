package ppv

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
	state.Describe(func(x *portState) state.Kinds {
		return state.Kinds{&x.nextUpdate: state.Past,
			&x.windowEnd: state.Instant}
	})
}
