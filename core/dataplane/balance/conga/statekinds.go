package conga

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
	state.Describe(func(x *metric) state.Kinds { return state.Kinds{&x.updatedAt: state.Instant} })
	state.Describe(func(x *estimator) state.Kinds { return state.Kinds{&x.decayedAt: state.Instant} })
}
