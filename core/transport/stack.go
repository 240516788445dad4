package transport

import "weir/core/scheme"

// BindStack binds the choice, for every transport that a kernel has.
func BindStack(p *scheme.Params, own *bool) {
	p.Either(own, [2]string{"kernel", "weir"}, "stack", "kernel", "whose hosts the lab has: the kernel's, or Weir's own, "+
		"which do what those of the simulator do; in the simulator it changes nothing", "ours")
}

// Own reports whether the lab's hosts are Weir's own for a transport with a configuration: no kernel has it, or it says
// so.
func Own(s *Scheme, c scheme.Config) bool {
	return s.Kernel == 0 || TraitsOf(c).OwnStack
}
