package spray

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{&x.routes: state.Ignored, &x.paths: state.Ignored}
	})
}
