package inband

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{&x.format: state.Ignored, &x.clock: state.Ignored, &x.idle: state.Span}
	})
	state.Describe(func(x *class) state.Kinds {
		return state.Kinds{&x.txBytes: state.Count, &x.lastDeparture: state.Instant}
	})
}
