package bolt

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *program) state.Kinds { return state.Kinds{&x.config: state.Ignored, &x.sent: state.Count} })
	state.Describe(func(x *port) state.Kinds { return state.Kinds{&x.countedAt: state.Instant} })
}
