package plan

import (
	"fmt"
	"runtime"
	"time"
)

// Cost estimates the cost of simulator runs. Times are on one core of the reference machine.
type Cost struct {
	Runs       int
	PacketHops float64 // of all runs
	CPUTime    float64 // seconds of all runs
	LongestRun float64 // seconds of the longest run
	Memory     float64 // bytes of the largest run
}

// EstimateCost estimates the cost of runs. Memory is the largest of a process with one run. Consecutive runs of one
// point are estimated once, since the seed does not change the estimate.
func EstimateCost(runs []*Run) (c Cost) {
	c.Runs = len(runs)
	var hops, seconds float64
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index {
			hops = EstimateHops(r)
			seconds = runSeconds(r, hops)
			c.LongestRun, c.Memory = max(c.LongestRun, seconds), max(c.Memory, EstimateMemory(r))
		}
		c.PacketHops, c.CPUTime = c.PacketHops+hops, c.CPUTime+seconds
	}
	return c
}

// Elapsed estimates the seconds until all runs are finished on a number of cores, of a machine that has the given speed
// relative to the reference machine. Each run has one core, and the longest run starts first. cores below 1 count as 1;
// speed must be above 0.
func (c *Cost) Elapsed(cores int, speed float64) float64 {
	return max(c.CPUTime/float64(max(cores, 1)), c.LongestRun) / speed
}

// RoughTime formats an estimated time in seconds, rounded to its precision.
func RoughTime(seconds float64) string {
	switch {
	case seconds < 1:
		return "under 1 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 120*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}

// ReferenceCores is the number of cores of the reference machine.
const ReferenceCores = 2

// referenceCalibration is the result of Calibrate on the reference machine: an idle AMD EPYC with two cores
// (docs/performance.md).
const referenceCalibration = 190e6

// MachineSpeed measures the speed of one core of this machine relative to the reference machine, in some 40 ms. It
// returns the best of several measurements, since other processes may use the machine meanwhile.
func MachineSpeed() (speed float64) {
	for range 8 {
		speed = max(speed, Calibrate(1_000_000)/referenceCalibration)
	}
	return speed
}

// Calibrate measures and returns the operations per second of a loop of dependent reads and multiplications in 512 KB.
// This mix is typical of an event loop, and contains no code of the simulator.
func Calibrate(operations int) float64 {
	var table [1 << 16]uint64
	for i := range table {
		table[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	start := time.Now()
	x := uint64(1)
	for range operations {
		x = x*6364136223846793005 + table[x>>48]
	}
	took := time.Since(start).Seconds()
	runtime.KeepAlive(x)
	return float64(operations) / took
}
