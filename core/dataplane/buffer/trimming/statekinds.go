package trimming

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds {
		return state.Kinds{&x.config: state.Ignored, &x.trimmed: state.Count, &x.marked: state.Count}
	})
	state.Describe(func(x *port) state.Kinds {
		return state.Kinds{&x.perByte: state.Span, &x.wireBusyUntil: state.Past, &x.wireSize: state.Ignored}
	})
}
