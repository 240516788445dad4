package bench

import "runtime"

// readCPU returns the CPU time in seconds that all cores were busy or lost to the hypervisor, the CPU time of this
// process, and the number of cores. The times are 0 if they cannot be read.
func readCPU() (all, process, cores float64) {
	m, err := readCPUTimes(0)
	if err != nil {
		return 0, 0, float64(runtime.NumCPU())
	}
	return m.busy + m.stolen, m.process, float64(runtime.NumCPU())
}
