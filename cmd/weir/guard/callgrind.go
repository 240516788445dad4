package guard

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Build builds the program whose loop is counted. The flags and the environment are fixed, because the
// instructions that a compiler makes depend on them. No profile guides it: an ordinary build of weir is without one.
// Without C the program is one static file, which valgrind can run anywhere.
func Build(binary string) error {
	args := []string{"build", "-pgo=off", "-buildvcs=false", "-o", binary}
	build := exec.Command("go", append(args, "weir/cmd/weir/guard/loop")...)
	build.Env = append(os.Environ(), "GOFLAGS=", "GOAMD64=v1", "GOEXPERIMENT=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// Instructions carries out an experiment's runs under callgrind and returns how many instructions their loops take for
// a packet-hop. They repeat to less than 0.1 %, since one thread carries out the runs, and nothing interrupts it: no
// collection, no preemption. Valgrind shows programs the same processor everywhere, and counts what it carries out, so
// that neither machine nor load matter.
func Instructions(binary, experiment, dir string) (perHop float64, err error) {
	profile := filepath.Join(dir, "callgrind.out")
	run := exec.Command("valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file="+profile,
		binary, experiment)
	run.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1,cpu.rdtscp=off", // which Valgrind may not know
		"GOGC=off", "GOMAXPROCS=1", "GOMEMLIMIT=off")
	var said bytes.Buffer
	run.Stderr = &said
	out, err := run.Output()
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", run.Args, err, said.Bytes())
	}
	hops, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%v: %w", run.Args, err)
	}
	parts, err := filepath.Glob(profile + ".*") // one for each of the experiment's runs
	if err != nil {
		return 0, err
	}
	var counts []byte
	for _, name := range parts {
		part, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		counts = append(counts, part...)
	}
	return Ratio(counts, hops)
}

var total = regexp.MustCompile(`(?m)^totals: (\d+)$`)

// Ratio is the sum of callgrind's profiles for each of so many packet-hops.
func Ratio(profiles []byte, hops uint64) (float64, error) {
	sum := uint64(0)
	for _, m := range total.FindAllSubmatch(profiles, -1) {
		n, err := strconv.ParseUint(string(m[1]), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	switch {
	case sum == 0:
		return 0, fmt.Errorf("callgrind has counted nothing")
	case hops == 0:
		return 0, fmt.Errorf("no packet crossed a link")
	}
	return float64(sum) / float64(hops), nil
}
