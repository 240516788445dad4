//go:build system

package costbounds_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"weir/e2e/costbounds"
	"weir/internal/testkit"
)

var record = flag.String("record", "", "why bounds move: measure, and append what has moved to "+file)

// TestBounds_HoldForInstructions checks that the instructions of runs agree with the record, and so do those of a
// run of ten packets with the start of the program. With -record all figures are measured, and those that have
// moved are appended to the bounds.
func TestBounds_HoldForInstructions(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("bounds are for linux on amd64")
	}
	testkit.RequireProgram(t, "valgrind", "valgrind")
	dir := t.TempDir()
	loop, program := filepath.Join(dir, "loop"), filepath.Join(dir, "weir")
	for binary, pkg := range map[string]string{loop: costbounds.Loop, program: costbounds.Program} {
		if err := costbounds.BuildProgram(binary, pkg); err != nil {
			t.Fatal(err)
		}
	}
	m := newMeter()
	t.Run("workloads", func(t *testing.T) { m.instructions(t, loop) })
	t.Run("start", func(t *testing.T) { m.start(t, program) })
	if *record != "" {
		m.countAll(t)
	}
	switch {
	case t.Failed():
	case *record != "":
		appendRecord(t, m)
	default:
		judge(t, m, func(figure string) bool { return figure != perHop && figure != perRun })
	}
}

// appendRecord appends the bounds that have moved to their file.
func appendRecord(t *testing.T, m *meter) {
	t.Helper()
	bounds, text := recorded(t)
	more, err := bounds.Record(m.figures, runtime.Version(), time.Now(), *record)
	if err == nil {
		err = os.WriteFile(file, append(text, more...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s", more)
}

// instructions counts the instructions of each workload.
func (m *meter) instructions(t *testing.T, binary string) {
	for _, w := range workloads(t) {
		t.Run(name(w), func(t *testing.T) {
			t.Parallel()
			n, err := costbounds.CountInstructions(binary, w, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m.set(name(w), perHop, n)
		})
	}
}

// tenPackets is an experiment whose run takes less than the start of the program, the results folder and the report.
const tenPackets = `title: ten packets
duration: 1ms
topology: {star: {hosts: 2, rate: 10Gbps, delay: 1us}}
switch: [forward]
traffic:
  - {name: x, from: h0, to: h1, transport: tcp, size: 14600 B, start: 0s}
measure: [goodput]
`

// starts is the number of counts of a run of ten packets. Threads that wait for each other take up to 3 % more
// instructions on a busy machine, so that the minimum of several counts is the program's own.
const starts = 5

// start counts the instructions of a run of ten packets, from the start of the program to its report. A processor
// executes 40 million in about 20 ms. Reading and hashing the program's own file took 2,300 million.
func (m *meter) start(t *testing.T, binary string) {
	fewest := math.Inf(1)
	for range starts {
		dir := t.TempDir()
		experiment := filepath.Join(dir, "ten.yaml")
		if err := os.WriteFile(experiment, []byte(tenPackets), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := costbounds.CountRunInstructions(binary, experiment, dir)
		if err != nil {
			t.Fatal(err)
		}
		fewest = min(fewest, n)
	}
	m.set("start", perRun, fewest)
}
