package p4abc

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Average) state.Kinds { return state.Kinds{&x.last: state.Instant} })
	state.Describe(func(x *flowShares) state.Kinds { return state.Kinds{&x.since: state.Instant} })
	state.Describe(func(x *IntegerMeter) state.Kinds { return state.Kinds{&x.start: state.Instant} })
	state.Describe(func(x *Meter) state.Kinds { return state.Kinds{&x.last: state.Instant, &x.start: state.Instant} })
	state.Describe(func(x *Program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
	state.Describe(func(x *room) state.Kinds {
		return state.Kinds{
			&x.max:           state.Ignored,
			&x.memory:        state.Ignored,
			&x.pause:         state.Ignored,
			&x.level:         state.Span,
			&x.sentTime:      state.Instant,
			&x.lastArrival:   state.Instant,
			&x.dropMemoryEnd: state.Instant,
		}
	})
}
