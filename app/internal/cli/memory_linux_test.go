package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/workers"
)

// TestRunsFitIntoMemory checks that the number of concurrent runs is limited to those that fit into memory, with a
// notice. A run that cannot fit is refused.
func TestRunsFitIntoMemory(t *testing.T) {
	const text = "duration: 1ms\nswitch: [forward]\ntopology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\nrepeat: 8\n" +
		"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps, start: 0s, flows: 100000}]\n"
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
	shared := plan.SharedMemory(s)
	own := plan.EstimateMemory(plan.ListRuns(s)[0]) - shared // some 500 MB
	for _, x := range []struct {
		name   string
		m      machine
		asked  int
		jobs   int
		notice string
		wrong  string
	}{
		{"not known", machine{}, 6, 6, "", ""},
		{"all fit", machine{1e12, shared + 6*own}, 6, 6, "", ""},
		{"more jobs than runs", machine{1e12, shared + 8*own}, 100, 100, "", ""},
		{"some fit", machine{1e12, shared + 3.5*own}, 6, 3, "3 concurrent runs instead of 6: a run takes up to ", ""},
		{"not even one is free", machine{1e12, shared + own/2}, 6, 1, "1 concurrent run instead of 6: a run takes up to ",
			""},
		{"one, and not free", machine{1e12, own / 2}, 1, 1, "a run takes up to ", ""},
		{"too large", machine{shared + own/2, shared}, 0, 0, "", "a run takes up to "},
		{"too large, and asked for", machine{shared + own/2, shared}, 1, 1, "a run takes up to ", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			jobs, notice, err := x.m.limitJobs(s, x.asked)
			if jobs != x.jobs || !strings.HasPrefix(notice, x.notice) || (notice == "") != (x.notice == "") {
				t.Errorf("%d, %q", jobs, notice)
			}
			if (err != nil) != (x.wrong != "") || err != nil && (!errors.Is(err, command.ErrInput) ||
				!strings.Contains(err.Error(), x.wrong) ||
				!strings.Contains(err.Error(), "this machine has "+report.FormatBytes(int64(roundUp(x.m.total))))) {
				t.Error(err)
			}
		})
	}
}

// TestReadMemory checks that a machine's memory is parsed from the kernel's format.
func TestReadMemory(t *testing.T) {
	if m := readMemory([]byte("MemTotal:  8000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\n\n")); m.total != 8192000 ||
		m.available != 4096000 {
		t.Error(m)
	}
}

// TestRunInLittleMemory checks that weir run refuses an experiment that exceeds the machine's memory before it
// writes a file. With little memory it executes fewer runs at a time, and gives the same results.
func TestRunInLittleMemory(t *testing.T) {
	file := write(t, "duration: 1ms\nswitch: [forward]\nrepeat: 4\nmeasure: [goodput]\n"+
		"topology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\n"+
		"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps, start: 0s, flows: 100}]\n")
	run := func(m machine, jobs int) (out string, failures string, err error) {
		var stdout, stderr strings.Builder
		a := &app{registry: Registry(), stdout: &stdout, stderr: &stderr, screen: &stderr, machine: m}
		dir := t.TempDir()
		err = (&runCmd{selection: selection{Name: file}, On: experiment.Sim, Out: command.Target(dir), Jobs: jobs,
			Threads:    "auto",
			tableFlags: tableFlags{CSV: true},
			slurmFlags: slurmFlags{SlurmTask: workers.DefaultTaskTime, SlurmTasks: workers.DefaultMaxTasks},
			labFlags:   labFlags{Attempts: 3, Generator: "weir", Scheduling: "deadline"}}).Run(a)
		if left, _ := os.ReadDir(dir); err != nil && len(left) > 0 {
			t.Errorf("%v is left", left)
		}
		return stdout.String(), stderr.String(), err
	}
	if _, _, err := run(machine{total: 1e7, available: 1e7}, 0); !errors.Is(err, command.ErrInput) ||
		!strings.Contains(err.Error(), "and this machine has 10MB; use fewer flows") {
		t.Error(err)
	}
	much, none, err := run(machine{total: 1e12, available: 1e12}, 4)
	if err != nil || none != "" {
		t.Error(err, none)
	}
	little, notice, err := run(machine{total: 1e12, available: 1e6}, 4)
	if err != nil || !strings.HasPrefix(notice, "notice: 1 concurrent run instead of 4: a run takes up to ") {
		t.Error(err, notice)
	}
	if much == "" || much != little {
		t.Errorf("%s\n%s", much, little)
	}
}
