package cli

import (
	"os"
	"runtime/pprof"
)

// profile writes a CPU profile of the process into a file, from now on until stop is called. The compiler optimises for
// that of the benchmarks (.ci/profile).
func profile(file string) (stop func(), err error) {
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
