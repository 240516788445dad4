package rainbow

import "weir/core/state"

// init registers the kinds of the fields of this package's state.
func init() {
	state.Describe(func(x *Program) state.Kinds { return state.Kinds{&x.config: state.Ignored} })
	state.Describe(func(x *portState) state.Kinds { return state.Kinds{&x.nextMove: state.Past} })
}
