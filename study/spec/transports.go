package spec

// KernelTransports are the names of the transports that a kernel has, too.
func (s *Spec) KernelTransports() (names []string) {
	for i := range s.registry.Transports {
		if t := &s.registry.Transports[i]; t.Kernel != 0 {
			names = append(names, t.Name)
		}
	}
	return names
}
