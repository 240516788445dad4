package transport

import "weir/core/scheme"

// BindStack binds the parameter stack to own. Every transport that a kernel has calls it.
func BindStack(p *scheme.Params, ownStack *bool) {
	p.BoolWords(ownStack, [2]string{"kernel", "weir"}, "stack", "kernel",
		"whose hosts the lab has: the kernel's, or Weir's own, "+
			"which do what those of the simulator do; in the simulator it changes nothing", "ours")
}

// UsesOwnStack reports whether Weir's own hosts run a transport in the lab: no kernel has it, or its configuration
// selects them.
func UsesOwnStack(s *Scheme, c scheme.Config) bool {
	return s.Kernel == 0 || TraitsOf(c).OwnStack
}
