package topology

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *NICSelector) state.Kinds {
		return state.Kinds{&x.routes: state.Ignored, &x.near: state.Ignored}
	})
}
