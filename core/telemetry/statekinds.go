package telemetry

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *PortLoad) state.Kinds { return state.Kinds{&x.lastTime: state.Instant} })
}
