package bench

import "runtime"

// spent returns the CPU time, in seconds, that all cores have spent with work or lost to the hypervisor, the CPU time
// of this process, and the number of cores.
func spent() (all, own, cores float64) {
	m, err := look(0)
	if err != nil {
		return 0, 0, float64(runtime.NumCPU())
	}
	return m.busy + m.stolen, m.own, float64(runtime.NumCPU())
}
