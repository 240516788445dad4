package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// carry executes tasks of a folder as weir task does, and returns their messages.
func carry(t *testing.T, dir string, tasks ...int) string {
	t.Helper()
	f, err := OpenFolder(room(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, task := range tasks {
		if _, err := f.ExecuteTask(t.Context(), task, 1, func(text string) { said = append(said, text) }); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(said, "\n")
}

// collect gathers the results of a folder into one for results.
func collect(t *testing.T, dir, into string, calls ...commands) (*results.Outcome, []string) {
	t.Helper()
	f, err := OpenFolder(room(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range calls {
		f.commands = x
	}
	c := f.NewCollector()
	out, err := run.Execute(t.Context(), f.Spec, run.Options{Dir: into, Executable: f.Job.Executable,
		Command: f.Job.Command, Runner: c})
	if err != nil {
		t.Fatal(err)
	}
	return out, c.DescribeMissing(t.Context())
}

// TestCollector_GathersTasksWithoutSlurm checks that tasks of a folder give the results of a local sweep on a
// machine without Slurm. Runs without a result are missing, with a reason and the command that executes them.
func TestCollector_GathersTasksWithoutSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f, into := exported(t, six, quick()), t.TempDir()
	out, why := collect(t, f.Dir, into)
	if out.Missing != 6 || len(why) != 2 || why[0] != "not started: the tasks of 6 missing runs" ||
		why[1] != "to run them, call sbatch in "+f.Dir+": sbatch --array=0-5 sweep.sbatch" {
		t.Errorf("%d missing: %q", out.Missing, why)
	}
	if said := carry(t, f.Dir, 0, 3); !strings.Contains(said, "(rate=8Mbps, seed 1) is finished") {
		t.Error(said)
	}
	if said := carry(t, f.Dir, 3); !strings.HasSuffix(said, " was executed earlier") {
		t.Error(said)
	}
	for name, text := range map[string]string{"7_4.txt": "old", "x": "",
		"12_4.txt": "run …\nslurmstepd: error: \x1b[1mkilled\n"} {
		if err := os.WriteFile(filepath.Join(f.Dir, logs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(results.RunFile(f.Dir, f.Job.Tasks[5][0]), []byte("{"), 0o600); err != nil { // cut off
		t.Fatal(err)
	}
	out, why = collect(t, f.Dir, into)
	if out.Missing != 4 || len(out.Runs) != 2 || len(why) != 3 ||
		!strings.HasPrefix(why[0], "started, and still running or ended: the tasks of 1 missing run (4); ") ||
		!strings.HasSuffix(why[0], filepath.Join(logs, "12_4.txt")+`: slurmstepd: error: \u001b[1mkilled`) ||
		!strings.Contains(why[2], "--array=1-2,4-5 sweep.sbatch") {
		t.Errorf("%d missing: %q", out.Missing, why)
	}
	carry(t, f.Dir, 1, 2, 4, 5)
	if out, why = collect(t, f.Dir, into); out.Missing > 0 || len(why) > 0 || out.Found != 2 {
		t.Errorf("%d missing, %d found: %q", out.Missing, out.Found, why)
	}
	if a, b := contents(t, local(t, six)), contents(t, out.Dir); !maps.Equal(a, b) {
		t.Errorf("%q and %q, or what they have, differ", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
}

// TestCollectAsks checks that a collector with access to the queue distinguishes tasks that wait or run from those
// that have ended.
func TestCollectAsks(t *testing.T) {
	f, c := exported(t, six, quick()), newCluster(t)
	c.queue("12|4|RUNNING|None|"+f.Dir, "13|3|RUNNING|None|/tmp")
	c.replace("sacct", "12_3|OUT_OF_MEMORY|0:125\n", nil)
	for _, name := range []string{"12_3.txt", "12_4.txt"} {
		if err := os.WriteFile(filepath.Join(f.Dir, logs, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	carry(t, f.Dir, 0, 1)
	_, why := collect(t, f.Dir, t.TempDir(), c.call)
	want := []string{"still in the queue: 1 task with 1 missing run",
		"task 3 of job 12 has ended without 1 of its runs: OUT_OF_MEMORY (signal 125) (limit 384 MiB; --slurm-option mem=… " +
			"raises it)",
		"not started: the tasks of 2 missing runs",
		"to run them, call sbatch in " + f.Dir + ": sbatch --array=2-3,5 sweep.sbatch"}
	if !slices.Equal(why, want) {
		t.Errorf("%q\nwant %q", why, want)
	}
}

// TestFailedRun checks that a failing run is reported, that the others continue, and that it is collected as in a
// local sweep. A later success removes the record of the failure.
func TestFailedRun(t *testing.T) {
	f := exported(t, three, Options{Task: 1e12, Tasks: 1, Threads: 1})
	if said := carry(t, f.Dir, 0); strings.Count(said, "is finished") != 2 ||
		!strings.Contains(said, "(x=bad, seed 1) failed: panic: a mistake of the scheme") {
		t.Error(said)
	}
	out, why := collect(t, f.Dir, t.TempDir())
	if len(out.Failed) != 1 || len(out.Runs) != 2 || out.Missing > 0 || len(why) > 0 {
		t.Fatalf("%v, %d runs, %d missing, %q", out.Failed, len(out.Runs), out.Missing, why)
	}
	if x := out.Failed[0]; !strings.HasPrefix(x.Err.Error(), "panic: a mistake of the scheme\n") ||
		x.Point[0].Text != "bad" {
		t.Errorf("%+v", x)
	}
	good := exported(t, six, quick())
	id := good.Job.Tasks[2][0]
	if err := os.WriteFile(good.failureFile(id), []byte("of before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	carry(t, good.Dir, 2)
	if why := good.readFailure(id); why != "" {
		t.Error(why)
	}
}

// TestTaskInterrupted checks that an interrupted task keeps its finished runs.
func TestTaskInterrupted(t *testing.T) {
	f := exported(t, six, Options{Task: 1e12, Tasks: 1, Threads: 1})
	ctx, stop := context.WithCancel(t.Context())
	after := func(text string) {
		if strings.HasSuffix(text, "is finished") {
			stop()
		}
	}
	if _, err := f.ExecuteTask(ctx, 0, 1, after); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if said := carry(t, f.Dir, 0); strings.Count(said, "was executed earlier") != 1 ||
		strings.Count(said, "is finished") != 5 {
		t.Error(said)
	}
	if _, err := f.ExecuteTask(t.Context(), 1, 1, nil); err == nil || !strings.Contains(err.Error(), "has tasks 0 to 0") {
		t.Error(err)
	}
}

// TestOpenRefuses checks that a folder that was changed, or belongs to another version or program, is refused with
// the reason.
func TestOpenRefuses(t *testing.T) {
	change := func(name, from, to string) func(string) {
		return func(dir string) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(data), from) {
				t.Fatalf("%v: %s", err, data)
			}
			changed := []byte(strings.Replace(string(data), from, to, 1))
			if err := os.WriteFile(filepath.Join(dir, name), changed, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	changeInput := func(dir string) {
		all, _ := filepath.Glob(filepath.Join(dir, inputs, "*"))
		if len(all) != 1 {
			t.Fatal(all)
		}
		if err := os.WriteFile(all[0], []byte("duration: 1s"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		change func(dir string)
		want   string
	}{
		{func(dir string) { os.Remove(filepath.Join(dir, manifest)) },
			"the file is missing, so this is not a folder of weir export slurm"},
		{change(manifest, `"format": 1`, `"format": 7`), "the file has format 7; this version of weir supports format 1"},
		{change(manifest, `"tasks"`, `"tasks`), "the file is not one that weir writes"},
		{change(manifest, "sweep.sbatch", "../sweep.sbatch"), `there is no array "../sweep.sbatch"`},
		{change(manifest, `"last": 5`, `"last": 6`), "of tasks 0 to 6"},
		{change(manifest, `"text": "`, `"text": "../`), "no file has the hash"},
		{change(manifest, `"executable_sha256": "e"`, `"executable_sha256": "f"`), "the experiment has no run"},
		{changeInput, "its content has the hash"},
		{func(dir string) { os.RemoveAll(filepath.Join(dir, inputs)) }, "no such file"},
		{func(dir string) {
			all, _ := filepath.Glob(filepath.Join(dir, inputs, "*"))
			moved := filepath.Join(t.TempDir(), "moved")
			if len(all) != 1 || os.Rename(all[0], moved) != nil || os.Symlink(moved, all[0]) != nil {
				t.Fatal(all)
			}
		}, "is not a regular file"},
		{func(dir string) { linkInputs(t, dir, filepath.Join(t.TempDir(), "moved")) }, "inputs is not a folder"},
		{func(dir string) { linkInputs(t, dir, filepath.Join(dir, "moved")) }, "inputs is not a folder"},
	} {
		f := exported(t, six, quick())
		c.change(f.Dir)
		_, err := OpenFolder(room(), f.Dir)
		if input := (document.InputErrors)(nil); !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	f := exported(t, six, quick())
	f.Job.Tasks[0][0] = "../../../../etc/passwd"
	data, _ := json.Marshal(f.Job)
	if _, err := readJob(f.Dir, data); err == nil || !strings.Contains(err.Error(), "no run has the id") {
		t.Error(err)
	}
	if err := f.CheckProgram(); err != nil {
		t.Error(err)
	}
	f.Job.Revision.Arch = "pdp11"
	if err := f.CheckProgram(); err == nil || !strings.Contains(err.Error(), "not pdp11") ||
		!strings.Contains(err.Error(), "allow this program with --any-program") {
		t.Error(err)
	}
}

// linkInputs moves a folder's inputs and leaves a link to them.
func linkInputs(t *testing.T, dir, moved string) {
	t.Helper()
	at := filepath.Join(dir, inputs)
	if err := errors.Join(os.Rename(at, moved), os.Symlink(moved, at)); err != nil {
		t.Fatal(err)
	}
}

// TestExportRefuses checks that an export needs a new folder, with a path that Slurm can read.
func TestExportRefuses(t *testing.T) {
	s := plantest.Load(t, room(), six, experiment.Options{})
	w := &run.Work{Spec: s, Executable: "e"}
	export := func(dir, program string) error {
		_, err := ExportFolder(dir, w, plan.ListRuns(s), program, quick())
		return err
	}
	dir := t.TempDir()
	if err := export(dir, small(t)); err != nil {
		t.Fatal(err)
	}
	if err := export(dir, small(t)); err == nil ||
		!strings.Contains(err.Error(), "the folder already contains a sweep") {
		t.Error(err)
	}
	for _, name := range []string{"100%", `a\b`} {
		if err := export(filepath.Join(t.TempDir(), name), small(t)); err == nil || !strings.Contains(err.Error(), `% or \`) {
			t.Error(err)
		}
	}
	if err := export(t.TempDir(), "nowhere"); err == nil ||
		!strings.Contains(err.Error(), "nowhere: the program cannot be read") {
		t.Error(err)
	}
	file := small(t)
	if err := export(filepath.Join(file, "x"), file); err == nil || !strings.Contains(err.Error(), "cannot be created") {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
}
