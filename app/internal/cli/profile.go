package cli

import (
	"os"
	"runtime/pprof"
)

// startProfile writes a CPU profile of the process to a file until stop is called. The compiler optimizes by the
// profile of the benchmarks (.ci/profile).
func startProfile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
