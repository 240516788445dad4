package fastcnp

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *notifier) state.Kinds {
		return state.Kinds{&x.config: state.Ignored, &x.sent: state.Count}
	})
	state.Describe(func(x *table) state.Kinds {
		return state.Kinds{&x.interval: state.Span, &x.suppressed: state.Count, &x.crowded: state.Count}
	})
	state.Describe(func(x *entry) state.Kinds { return state.Kinds{&x.until: state.Past} })
}
