package p4te

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Write) state.Kinds { return state.Kinds{&x.At: state.Instant} })
	state.Describe(func(x *ControlPlane) state.Kinds {
		return state.Kinds{&x.config: state.Ignored, &x.busyUntil: state.Past, &x.work: state.Ignored}
	})
	state.Describe(func(x *minDelay) state.Kinds { return state.Kinds{&x.measuredAt: state.Instant} })
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{
			&x.config:       state.Ignored,
			&x.clock:        state.Ignored,
			&x.departures:   state.Instant,
			&x.nextAge:      state.Instant,
			&x.nextLinkPoll: state.Instant,
			&x.counts:       state.Count,
		}
	})
	state.Describe(func(x *reachability) state.Kinds { return state.Kinds{&x.barredUntil: state.Past} })
}
