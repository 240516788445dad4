//go:build !linux

package bench

import (
	"runtime"
	"time"
)

var begun = time.Now()

// spent stands for CPU time where the system does not tell: the wall's, and nothing of others.
func spent() (all, own, cores float64) {
	t := time.Since(begun).Seconds()
	return t, t, float64(runtime.NumCPU())
}

// processor and release name the machine.
func processor() string { return runtime.GOARCH }
func release() string   { return runtime.GOOS }
