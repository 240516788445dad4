package cli

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"weir/internal/command"
)

const sweepOfTwo = `duration: 10ms
topology:
  hosts: [h0, h1]
  switches: [s]
  links: [{ends: [h0, s], rate: 10Mbps, delay: 1ms}, {ends: [s, h1], rate: 10Mbps, delay: 1ms}]
switch: [forward]
traffic: [{name: x, from: h0, to: h1, transport: udp, rate: $rate, start: 0s}]
sweep: {rate: [1Mbps, 2Mbps]}
repeat: 1
measure: [goodput]
`

// TestSlurmFlags checks that flags without effect, and flags that conflict, are refused.
func TestSlurmFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	file := write(t, sweepOfTwo)
	for args, want := range map[string]string{
		"run FILE --slurm-task 1m":                        "--slurm-task and --slurm-tasks need --runner slurm",
		"run FILE --slurm-option time=3":                  "need --runner slurm",
		"run FILE --runner cloud":                         `--runner must be one of "local","slurm"`,
		"run FILE --runner slurm --on lab":                "--runner slurm needs the simulator",
		"run FILE --runner slurm --trace *":               "--trace needs --runner local",
		"run FILE --runner slurm --jobs 3":                "--jobs needs --runner local",
		"run FILE --runner slurm --workers 127.0.0.1:0":   "one of them is allowed",
		"run FILE --runner slurm --slurm-option=-A":       `"-A" is not an option of sbatch`,
		"run FILE --runner slurm --slurm-tasks 0":         "the number of tasks is 0; 1 to 1000000 is allowed",
		"export slurm FILE":                               "missing flags: --to=DIR",
		"export slurm FILE --to x --threads 0":            "--threads is 0; 1 to 1024 is allowed",
		"export slurm FILE --to x --slurm-option array=1": `"array" cannot be set`,
		"task . --index 0": "job.json:1:1: the file is missing, so this is not a folder of weir export " +
			"slurm",
		"collect .": "job.json:1:1: the file is missing, so this is not a folder of weir export " +
			"slurm",
		"collect nowhere":                                      "nowhere: no such file or directory",
		"export slurm nowhere.yaml --to x":                     "unknown experiment or file",
		"run FILE --runner slurm --out results --threads 2000": "--threads is",
	} {
		words := strings.Fields(strings.ReplaceAll(args, "FILE", file))
		if code, out, errs := weir(words...); code != command.WrongInput || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestExportTaskCollect checks that a sweep can be exported, run task by task and collected without Slurm, with the
// results of weir run. A collection before the end reports the missing runs. A machine without Slurm refuses to
// follow a sweep.
func TestExportTaskCollect(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	file, dir := write(t, sweepOfTwo), t.TempDir()
	job, out, good := filepath.Join(dir, "a job"), filepath.Join(dir, "out"), filepath.Join(dir, "good")
	must := func(want int, args ...string) (string, string) {
		t.Helper()
		code, text, errs := weir(args...)
		if code != want {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, text, errs)
		}
		return text, errs
	}
	text, _ := must(command.Done, "export", "slurm", file, "--to", job, "--slurm-task", "1ms")
	if !strings.HasPrefix(text, "sweep.sbatch: 2 runs in 2 tasks, each with ") ||
		!strings.Contains(text, "\n  cd '"+job+"'\n  sbatch sweep.sbatch\n") {
		t.Error(text)
	}
	must(command.WrongInput, "export", "slurm", file, "--to", job)
	must(command.WrongInput, "task", job, "--index", "2")
	must(command.Done, "task", job, "--index", "1")
	text, errs := must(command.RunFailed, "collect", job, "--out", out, "--csv")
	if strings.Count(text, "\n") != 2 || !strings.Contains(errs, "notice: not started: the tasks of 1 missing run\n") {
		t.Errorf("%s%s", text, errs)
	}
	must(command.Done, "task", job, "--index", "0")
	text, errs = must(command.Done, "collect", job, "--out", out, "--csv")
	local, _ := must(command.Done, "run", file, "--out", good, "--csv")
	if text != local || errs != "" {
		t.Errorf("%s%s, not %s", text, errs, local)
	}
	_, errs = must(command.RunFailed, "run", file, "--out", filepath.Join(dir, "none"), "--runner", "slurm")
	if !strings.Contains(errs, "this machine has no squeue") {
		t.Error(errs)
	}
	name := filepath.Join(job, "job.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), "linux/amd64", "plan9/386", 1))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "plan9/386") {
		_, errs := must(command.WrongInput, "collect", job, "--out", out)
		if !strings.Contains(errs, "allow this program with --any-program") {
			t.Error(errs)
		}
		must(command.Done, "collect", job, "--out", out, "--any-program")
	}
}

// TestLimitMemory checks that Slurm's grant to a task bounds its garbage, unless GOMEMLIMIT does.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		granted, own string
		want         int64
	}{{"", "", math.MaxInt64}, {"what", "", math.MaxInt64}, {"1000", "1GiB", math.MaxInt64}, {"1000", "", 943718400}} {
		debug.SetMemoryLimit(math.MaxInt64)
		limitMemory(func(name string) string {
			return map[string]string{"SLURM_MEM_PER_NODE": c.granted, "GOMEMLIMIT": c.own}[name]
		})
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.granted, c.own, got, c.want)
		}
	}
}
