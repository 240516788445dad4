package ncf

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *budget) state.Kinds {
		return state.Kinds{&x.limit: state.Span, &x.spent: state.Span, &x.duration: state.Span}
	})
	state.Describe(func(x *changes) state.Kinds { return state.Kinds{&x.wait: state.Span} })
	state.Describe(func(x *slot) state.Kinds { return state.Kinds{&x.since: state.Instant} })
	state.Describe(func(x *echo) state.Kinds {
		return state.Kinds{&x.lastData: state.Instant, &x.notifiedAt: state.Instant}
	})
	state.Describe(func(x *Memory) state.Kinds { return state.Kinds{&x.last: state.Instant} })
	state.Describe(func(x *tally) state.Kinds { return state.Kinds{&x.duration: state.Span} })
	state.Describe(func(x *gathered) state.Kinds { return state.Kinds{&x.due: state.Instant, &x.sent: state.Instant} })
	state.Describe(func(x *input) state.Kinds { return state.Kinds{&x.span: state.Span, &x.start: state.Instant} })
	state.Describe(func(x *offer) state.Kinds { return state.Kinds{&x.at: state.Instant, &x.loop: state.Span} })
	state.Describe(func(x *overload) state.Kinds { return state.Kinds{&x.last: state.Instant} })
	state.Describe(func(x *Program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
	state.Describe(func(x *Sketch) state.Kinds {
		return state.Kinds{
			&x.start:     state.Instant,
			&x.counts:    state.Span,
			&x.forwarded: state.Span,
			&x.config:    state.Ignored,
		}
	})
	state.Describe(func(x *Origin) state.Kinds { return state.Kinds{&x.NotifiedAt: state.Instant} })
}
