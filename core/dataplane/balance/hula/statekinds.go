package hula

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{&x.config: state.Ignored, &x.phase: state.Span, &x.counts: state.Count}
	})
	state.Describe(func(x *link) state.Kinds {
		return state.Kinds{&x.updatedAt: state.Instant,
			&x.probedAt: state.Instant}
	})
	state.Describe(func(x *hop) state.Kinds { return state.Kinds{&x.updatedAt: state.Instant} })
}
