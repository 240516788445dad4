//go:build slow

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/plan"
)

// The test takes every fourth of the sorted names of the catalogue, if the quick runs of the experiment take fewer
// than maxHops packet-hops. It adds an experiment with many small flows.
const (
	every   = 4
	maxHops = 60e6
)

// estimated returns the names of these experiments, which are at least twenty.
func estimated(t *testing.T, r *experiment.Registry) (names []string) {
	var all []string
	for _, x := range r.Experiments() {
		s := runtest.Load(t, r, x.Name, experiment.Options{Quick: true})
		hops := 0.0
		for _, x := range plan.ListRuns(s) {
			hops += plan.EstimateHops(x)
		}
		if hops < maxHops {
			all = append(all, x.Name)
		}
	}
	slices.Sort(all)
	for i := every / 2; i < len(all); i += every {
		names = append(names, all[i])
	}
	if names = append(names, "many small flows"); len(names) < 20 {
		t.Fatalf("%d experiments: %v", len(names), names)
	}
	return names
}

// TestEstimates_AreWithinFactorOfRun checks that the estimates of weir check agree with weir run: packet-hops and
// memory within a factor of two, and time within four, because the machine decides a part of it.
func TestEstimates_AreWithinFactorOfRun(t *testing.T) {
	const many = `duration: 2s
topology: {leaf_spine: {leaves: 4, spines: 4, hosts: 16, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic: [{name: x, from: "*", to: random, transport: tcp, size: 1kB, flows: 3000, start: 0s..1.9s}]
measure: [goodput, fct]
`
	program, r := builtProgram(t), Registry()
	for _, name := range estimated(t, r) {
		t.Run(name, func(t *testing.T) {
			file := name
			if !strings.Contains(name, "/") {
				file = write(t, many)
			}
			s := runtest.Load(t, r, file, experiment.Options{Quick: true})
			hops, seconds := 0.0, 0.0
			for _, x := range plan.ListRuns(s) {
				hops += plan.EstimateHops(x)
				seconds += plan.EstimateTime(x)
			}
			c := exec.Command(program, "run", file, "--quick", "--jobs", "1", "--threads", "1", "--json", "--out",
				t.TempDir())
			out, peak := watched(t, c)
			var doc struct {
				Runs []struct {
					Hops float64 `json:"packet_hops"`
				} `json:"runs"`
			}
			if err := json.Unmarshal(out, &doc); err != nil {
				t.Fatal(err)
			}
			real := 0.0
			for _, x := range doc.Runs {
				real += x.Hops
			}
			within := func(what string, real, said, factor float64) {
				t.Logf("%s: %.3g, estimated %.3g (%.2f)", what, real, said, said/real)
				if said < real/factor || said > real*factor {
					t.Errorf("%s: %.3g, estimated %.3g", what, real, said)
				}
			}
			within("packet-hops", real, hops, 2)
			within("memory", peak, plan.CommandMemory(s, 1), 2)
			if took := c.ProcessState.UserTime().Seconds(); took > 2 { // below, what is around runs counts more
				within("seconds", took, seconds, 4)
			}
		})
	}
}

// builtProgram builds weir as a separate program, because the memory of the tests is not weir's.
func builtProgram(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "weir")
	if out, err := exec.Command("go", "build", "-o", file, "weir/cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestMemoryEstimates checks that the estimate of weir check is within a factor of two of the peak of weir run, for
// short runs of experiments of three papers. Some sample thousands of flows, or a few flows for long. P4-ABC has
// 1000 and 10,000 users, with two hosts each.
func TestMemoryEstimates(t *testing.T) {
	program, r := builtProgram(t), Registry()
	for _, x := range []struct {
		name  string
		quick bool
		set   []string
	}{
		{"ncf/attack-budget", false, []string{"budget=ncf", "rtt=0.2ms", "load=incast", "repeat=2"}},
		{"ncf/attack-budget", false, []string{"budget=ncf", "rtt=4ms", "repeat=2"}},
		{"ncf/attack", true, []string{"repeat=1", "rtt=4ms"}},
		{"ncf/bolt", true, nil},
		{"ncf/queues", true, nil},
		{"ncf/internet-lot", true, nil},
		{"ncf/incast-supply", true, nil},
		{"p4te/compose", true, []string{"repeat=1"}},
		{"p4te/table1-fit", true, []string{"repeat=1", "scenario=[stride_low, incast]"}},
		{"p4te/table1-released", true, []string{"repeat=1"}},
		{"p4abc/aggregates", false, []string{`users=["1000"]`, "scheme=[abc]", "duration=200ms", "warmup=200ms"}},
		{"p4abc/aggregates", false, []string{`users=["10000"]`, "scheme=[abc]", "duration=200ms", "warmup=200ms"}},
	} {
		t.Run(x.name+" "+strings.Join(x.set, " "), func(t *testing.T) {
			s := runtest.Load(t, r, x.name, experiment.Options{Quick: x.quick, Set: x.set})
			args := []string{"run", x.name, "--jobs", "1", "--threads", "1", "--json", "--out", t.TempDir()}
			if x.quick {
				args = append(args, "--quick")
			}
			for _, set := range x.set {
				args = append(args, "--set", set)
			}
			_, peak := watched(t, exec.Command(program, args...))
			estimate := plan.CommandMemory(s, 1)
			t.Logf("%.3g bytes, estimated %.3g (%.2f)", peak, estimate, estimate/peak)
			if estimate < peak/2 || estimate > 2*peak {
				t.Errorf("%.3g bytes, estimated %.3g", peak, estimate)
			}
		})
	}
}

// watched runs a program, and returns its output and its peak memory. The peak that wait4(2) reports includes the
// parent's.
func watched(t *testing.T, c *exec.Cmd) (out []byte, peak float64) {
	t.Helper()
	var b bytes.Buffer
	c.Stdout = &b
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid)); err == nil {
			kib := 0.0
			_, most, _ := strings.Cut(string(status), "VmHWM:")
			fmt.Sscan(most, &kib)
			peak = max(peak, 1024*kib)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return b.Bytes(), peak
		case <-time.After(5 * time.Millisecond):
		}
	}
}
