package tm

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *cake) state.Kinds { return state.Kinds{&x.config: state.Ignored, &x.now: state.Instant} })
	state.Describe(func(x *cobalt) state.Kinds {
		return state.Kinds{&x.next: state.Instant, &x.changed: state.Instant}
	})
	state.Describe(func(x *cobaltTimes) state.Kinds {
		return state.Kinds{&x.target: state.Span, &x.interval: state.Span, &x.frame: state.Span}
	})
	state.Describe(func(x *CoDelState) state.Kinds {
		return state.Kinds{&x.above: state.Instant, &x.next: state.Instant}
	})
	state.Describe(func(x *deadline) state.Kinds { return state.Kinds{&x.offset: state.Span} })
	state.Describe(func(x *fq) state.Kinds {
		return state.Kinds{&x.law: state.Ignored, &x.cake: state.Ignored, &x.hosts: state.Ignored}
	})
	state.Describe(func(x *flows) state.Kinds { return state.Kinds{&x.law: state.Ignored, &x.sentUntil: state.Past} })
	state.Describe(func(x *Pauses) state.Kinds {
		return state.Kinds{&x.Frames: state.Count, &x.Time: state.Count, &x.Any: state.Count}
	})
	state.Describe(func(x *pauses) state.Kinds {
		return state.Kinds{&x.since: state.Past, &x.until: state.Instant, &x.any: state.Past}
	})
	state.Describe(func(x *guarantee) state.Kinds { return state.Kinds{&x.last: state.Instant} })
	state.Describe(func(x *Queue) state.Kinds { return state.Kinds{&x.served: state.Past} })
	state.Describe(func(x *Port) state.Kinds {
		return state.Kinds{&x.txBytes: state.Count, &x.txPackets: state.Count}
	})
}
