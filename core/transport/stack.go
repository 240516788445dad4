package transport

import "weir/core/scheme"

// BindStack binds the parameter stack to ownStack: true for weir. Every transport that a kernel has calls it.
func BindStack(p *scheme.Params, ownStack *bool) {
	p.BoolWords(ownStack, [2]string{"kernel", "weir"}, "stack", "kernel",
		"implementation of the lab's hosts; kernel: the kernel's; weir: Weir's own, which behaves as in the simulator; "+
			"the simulator ignores the option", "Weir")
}

// UsesOwnStack reports whether Weir's own hosts run a transport in the lab: no kernel has it, or its configuration
// selects them.
func UsesOwnStack(s *Scheme, c scheme.Config) bool {
	return s.Kernel == 0 || TraitsOf(c).OwnStack
}
