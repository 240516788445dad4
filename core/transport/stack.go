package transport

import "weir/core/scheme"

// Stacked is the configuration of a transport that kernels have, too: it says who carries it out in the lab.
type Stacked interface {
	OwnStack() bool // hosts of Weir's own do, not the kernel
}

// BindStack binds the choice, for every transport that a kernel has.
func BindStack(p *scheme.Params, own *bool) {
	p.Either(own, [2]string{"kernel", "weir"}, "stack", "kernel", "whose hosts the lab has: the kernel's, or Weir's own, "+
		"which do what those of the simulator do; in the simulator it changes nothing", "ours")
}

// Own reports whether the lab's hosts are Weir's own for a transport with a configuration: no kernel has it, or it says
// so.
func Own(s *Scheme, c scheme.Config) bool {
	if s.Kernel == 0 {
		return true
	}
	x, ok := c.(Stacked)
	return ok && x.OwnStack()
}
