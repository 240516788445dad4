package cc

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Member) state.Kinds { return state.Kinds{&x.lastPacket: state.Instant} })
}
