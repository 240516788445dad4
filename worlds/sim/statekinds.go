package sim

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *host) state.Kinds {
		return state.Kinds{
			&x.thread:      state.Ignored,
			&x.run:         state.Ignored,
			&x.observation: state.Ignored,
			&x.jobs:        state.Ignored,
			&x.lastReply:   state.Ignored,
			&x.expiry:      state.Instant,
			&x.stall:       state.Instant,
			&x.scheduled:   state.Instant,
			&x.unexpected:  state.Count,
			&x.late:        state.Count,
			&x.made:        state.Count,
			&x.ended:       state.Count,
			&x.strays:      state.Ignored,
		}
	})
}
