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

// BuildProgram builds a program for counting. The flags and the environment are fixed, because the compiled
// instructions depend on them. It uses no profile, like an ordinary build of weir. Without C the program is one static
// file, which valgrind can run anywhere.
func BuildProgram(binary, pkg string) error {
	build := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", binary, pkg)
	build.Env = append(os.Environ(), "GOFLAGS=", "GOAMD64=v1", "GOEXPERIMENT=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// CountInstructions runs an experiment's runs under callgrind and returns the instructions of their loops per
// packet-hop. They repeat to less than 0.1 %: one thread executes the runs, without collections or preemption. Valgrind
// presents the same processor to programs everywhere, and counts executed instructions, so neither machine nor load
// matter.
func CountInstructions(binary, experiment, dir string) (perHop float64, err error) {
	out, counts, err := runCallgrind(dir, "--instr-atstart=no", binary, experiment)
	if err != nil {
		return 0, err
	}
	hops, err := strconv.ParseUint(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", binary, experiment, err)
	}
	return SumPerHop(counts, hops)
}

// CountRunInstructions runs weir with an experiment and returns the instructions of the whole process, from its start
// to the report. It writes callgrind's files into dir.
func CountRunInstructions(binary, experiment, dir string) (float64, error) {
	_, counts, err := runCallgrind(dir, "--instr-atstart=yes", binary, "run", experiment, "--fresh", "--out",
		filepath.Join(dir, "results"))
	if err != nil {
		return 0, err
	}
	return SumPerHop(counts, 1)
}

// runCallgrind runs a command under callgrind, and returns its output and callgrind's profiles, which it writes into
// dir. The argument start is callgrind's option that decides when counting starts.
func runCallgrind(dir, start string, command ...string) (out string, profiles []byte, err error) {
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

// total matches the sum of a profile.
var total = regexp.MustCompile(`(?m)^totals: (\d+)$`)

// SumPerHop returns the sum of the instructions in callgrind's profiles, divided by the number of packet-hops.
func SumPerHop(profiles []byte, hops uint64) (float64, error) {
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
