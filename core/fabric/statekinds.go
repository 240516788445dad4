package fabric

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *LinkCounters) state.Kinds {
		return state.Kinds{
			&x.Sent:      state.Count,
			&x.Lost:      state.Count,
			&x.LostBytes: state.Count,
			&x.Down:      state.Count,
		}
	})
	state.Describe(func(x *port) state.Kinds {
		return state.Kinds{
			&x.freeAt:  state.Past,
			&x.armedAt: state.Instant,
			&x.last:    state.Past,
			&x.delay:   state.Span,
			&x.perByte: state.Span,
			&x.sent:    state.Count,
		}
	})
	state.Describe(func(x *extra) state.Kinds {
		return state.Kinds{
			&x.ser:     state.Ignored,
			&x.jitter:  state.Span,
			&x.lost:    state.Past,
			&x.victims: state.Ignored,
		}
	})
	state.Describe(func(x *member) state.Kinds { return state.Kinds{&x.timer: state.Instant} })
	state.Describe(func(x *group) state.Kinds { return state.Kinds{&x.nextAt: state.Instant} })
	state.Describe(func(x *Fabric) state.Kinds {
		return state.Kinds{
			&x.window:    state.Span,
			&x.stride:    state.Ignored,
			&x.minStride: state.Span,
			&x.maxStride: state.Span,
			&x.wireMode:  state.Ignored,
			&x.together:  state.Ignored,
			&x.run:       state.Ignored,
			&x.end:       state.Ignored,
			&x.turn:      state.Ignored,
		}
	})
	state.Describe(func(x *part) state.Kinds {
		return state.Kinds{
			&x.nextAt:   state.Instant,
			&x.next:     state.Ignored,
			&x.pool:     state.Ignored,
			&x.observer: state.Ignored,
			&x.sorter:   state.Ignored,
			&x.events:   state.Count,
			&x.hops:     state.Count,
			&x.sink:     state.Ignored,
		}
	})
	state.Describe(func(x *crossing) state.Kinds { return state.Kinds{&x.at: state.Instant} })
	state.Describe(func(x *schedule) state.Kinds { return state.Kinds{&x.next: state.Instant} })
	state.Describe(func(x *wire) state.Kinds { return state.Kinds{&x.ring: state.Ignored, &x.head: state.Ignored} })
}
