package bench

import (
	"os"
	"strconv"
	"strings"
	"time"

	"weir/study/plan"
)

// Meters measure a benchmark's use of the machine. With other meters, in tests, a benchmark depends only on its input.
type Meters struct {
	Now func() time.Time
	// CPU returns the CPU time in seconds that all cores were busy or lost to the hypervisor, the CPU time of this
	// process, and the number of cores.
	CPU       func() (all, process, cores float64)
	Calibrate func() float64 // operations per second of plan.Calibrate
	Memory    func() uint64  // the largest resident set of this process, in bytes
}

// MachineMeters returns the meters of this machine.
func MachineMeters() Meters {
	return Meters{Now: time.Now, CPU: readCPU, Calibrate: calibrate, Memory: peakMemory}
}

// calibrate returns the speed of this machine in operations per second (plan.Calibrate).
func calibrate() float64 { return plan.Calibrate(20_000_000) }

// peakMemory returns the largest resident set of this process in bytes; 0 if the system does not report it.
func peakMemory() uint64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return residentPeak(string(data))
}

// residentPeak returns the largest resident set in bytes in the text of /proc/PID/status (VmHWM); 0 if it is missing.
func residentPeak(status string) uint64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n * 1024
		}
	}
	return 0
}
