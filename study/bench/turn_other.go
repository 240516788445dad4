//go:build !linux

package bench

import (
	"runtime"
	"time"
)

// startTime is the start of the process.
var startTime = time.Now()

// readCPU returns the wall time in place of CPU times, since the system does not report them, and the number of cores.
func readCPU() (all, process, cores float64) {
	t := time.Since(startTime).Seconds()
	return t, t, float64(runtime.NumCPU())
}

// processorName and kernelRelease identify the machine.
func processorName() string { return runtime.GOARCH }
func kernelRelease() string { return runtime.GOOS }
