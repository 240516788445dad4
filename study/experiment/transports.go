package experiment

import "weir/core/cc"

// KernelTransports are the names of the transports that a kernel has, too.
func (s *Spec) KernelTransports() (names []string) {
	for i := range s.registry.Transports {
		if t := &s.registry.Transports[i]; t.Kernel != 0 {
			names = append(names, t.Name)
		}
	}
	return names
}

// FollowedControllers are the names of those that Linux' own TCP can follow by agents of its hosts (cc.Traits).
func (s *Spec) FollowedControllers() (names []string) {
	for i := range s.registry.Controllers {
		c := &s.registry.Controllers[i]
		if c.Config == nil {
			continue
		}
		if cc.TraitsOf(c.Config()).Agent != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// KernelControllers are the names of the controllers whose congestion controls a kernel offers, in
// the order of its offers.
func (s *Spec) KernelControllers(offers []string) (names []string) {
	for _, offer := range offers {
		for i := range s.registry.Controllers {
			if c := &s.registry.Controllers[i]; c.Kernel == offer {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
