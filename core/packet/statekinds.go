package packet

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *NodeRequests) state.Kinds {
		return state.Kinds{
			&x.Timer:         state.Instant,
			&x.next:          state.Ignored,
			&x.free:          state.Ignored,
			&x.forwarded:     state.Ignored,
			&x.wokenAfter:    state.Ignored,
			&x.forwardedPort: state.Ignored,
		}
	})
}
