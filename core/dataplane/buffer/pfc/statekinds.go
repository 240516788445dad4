package pfc

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{&x.renewal: state.Span, &x.nextRenewal: state.Instant, &x.earliestRenewal: state.Instant}
	})
}
