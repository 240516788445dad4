package bench

import (
	"os"
	"strconv"
	"strings"
	"time"

	"weir/study/plan"
)

// Meters measure what a benchmark uses of the machine. Tests replace them, which makes a benchmark a function of its
// input.
type Meters struct {
	Now func() time.Time
	// CPU returns the CPU time in seconds that all cores have spent with work or lost to the hypervisor, the CPU time of
	// this process, and the number of cores.
	CPU       func() (all, own, cores float64)
	Calibrate func() float64 // operations per second of plan.Calibrate
	Memory    func() uint64  // the largest resident set of this process, in bytes
}

// MachineMeters returns the meters of this machine.
func MachineMeters() Meters {
	return Meters{Now: time.Now, CPU: spent, Calibrate: calibrate, Memory: peakMemory}
}

// calibrate measures the speed of this machine, to compare with the simulator's.
func calibrate() float64 { return plan.Calibrate(20_000_000) }

// peakMemory returns the largest resident set of this process in bytes, or 0 where the system does not report it.
func peakMemory() uint64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return residentPeak(string(data))
}

// residentPeak returns the largest resident set in bytes that /proc/PID/status reports (VmHWM), or 0 if it reports no
// peak.
func residentPeak(status string) uint64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n * 1024
		}
	}
	return 0
}
