package costbounds

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

// Packages of programs that are counted.
const (
	Loop    = "weir/e2e/costbounds/loop" // a simulation's loop alone
	Program = "weir/cmd/weir"            // the whole program
)

// Build builds a program that is counted. The flags and the environment are fixed, because the instructions that a
// compiler makes depend on them. No profile guides it: an ordinary build of weir is without one. Without C the program
// is one static file, which valgrind can run anywhere.
func Build(binary, pkg string) error {
	build := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", binary, pkg)
	build.Env = append(os.Environ(), "GOFLAGS=", "GOAMD64=v1", "GOEXPERIMENT=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// Instructions runs an experiment's runs under callgrind and returns how many instructions their loops take for a
// packet-hop. They repeat to less than 0.1 %, since one thread carries out the runs, and nothing interrupts it: no
// collection, no preemption. Valgrind shows programs the same processor everywhere, and counts what it carries out, so
// that neither machine nor load matter.
func Instructions(binary, experiment, dir string) (perHop float64, err error) {
	out, counts, err := callgrind(dir, "--instr-atstart=no", binary, experiment)
	if err != nil {
		return 0, err
	}
	hops, err := strconv.ParseUint(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", binary, experiment, err)
	}
	return Ratio(counts, hops)
}

// RunInstructions runs weir with an experiment and returns how many instructions the whole process takes, from its
// start to the report.
func RunInstructions(binary, experiment, dir string) (float64, error) {
	_, counts, err := callgrind(dir, "--instr-atstart=yes", binary, "run", experiment, "--fresh", "--out",
		filepath.Join(dir, "results"))
	if err != nil {
		return 0, err
	}
	return Ratio(counts, 1)
}

// callgrind runs a command under callgrind, and returns its output and callgrind's profiles, which it writes into dir.
func callgrind(dir, start string, command ...string) (out string, profiles []byte, err error) {
	profile := filepath.Join(dir, "callgrind.out")
	run := exec.Command("valgrind", append([]string{"--tool=callgrind", start, "--callgrind-out-file=" + profile},
		command...)...)
	run.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1,cpu.rdtscp=off", // which Valgrind may not know
		"GOGC=off", "GOMAXPROCS=1", "GOMEMLIMIT=off")
	var said bytes.Buffer
	run.Stderr = &said
	data, err := run.Output()
	if err != nil {
		return "", nil, fmt.Errorf("%v: %w\n%s", run.Args, err, said.Bytes())
	}
	parts, err := filepath.Glob(profile + "*") // a program may write one for each of an experiment's runs
	if err != nil {
		return "", nil, err
	}
	for _, name := range parts {
		part, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		profiles = append(profiles, part...)
	}
	return string(data), profiles, nil
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
