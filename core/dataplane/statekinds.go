package dataplane

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Env) state.Kinds { return state.Kinds{&x.now: state.Ignored} })
	state.Describe(func(x *TreePosition) state.Kinds { return state.Kinds{&x.Trip: state.Span} })
	state.Describe(func(x *Failover) state.Kinds {
		return state.Kinds{
			&x.after:       state.Span,
			&x.changeTimes: state.Instant,
			&x.nextChange:  state.Instant,
			&x.livePorts:   state.Ignored,
		}
	})
	state.Describe(func(x *Flowlets) state.Kinds { return state.Kinds{&x.gap: state.Span} })
	state.Describe(func(x *flowlet) state.Kinds { return state.Kinds{&x.until: state.Past} })
	state.Describe(func(x *PathSet) state.Kinds {
		return state.Kinds{&x.paths: state.Ignored, &x.routes: state.Ignored}
	})
	state.Describe(func(x *accrual) state.Kinds { return state.Kinds{&x.last: state.Instant} })
	state.Describe(func(x *recirculating) state.Kinds { return state.Kinds{&x.exitTime: state.Instant} })
	state.Describe(func(x *Switch) state.Kinds {
		return state.Kinds{
			&x.config:           state.Ignored,
			&x.pool:             state.Ignored,
			&x.nextTick:         state.Instant,
			&x.expiry:           state.Instant,
			&x.recircSerialiser: state.Ignored,
			&x.recircFree:       state.Past,
			&x.replicas:         state.Ignored,
			&x.consumed:         state.Count,
			&x.created:          state.Count,
			&x.samples:          state.Ignored,
			&x.freed:            state.Count,
			&x.receivedPFC:      state.Count,
			&x.drops:            state.Count,
			&x.portDrops:        state.Count,
			&x.made:             state.Count,
			&x.madeDrops:        state.Count,
		}
	})
	state.Describe(func(x *ticker) state.Kinds { return state.Kinds{&x.nextTick: state.Instant} })
}
