package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/atomicfile"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
	"weir/study/run"
)

// cluster replaces Slurm. Submitted jobs wait in its queue, and the test decides their fate.
type cluster struct {
	t *testing.T

	lock      sync.Mutex
	dirs      []string // of what was submitted
	lines     string   // of squeue
	cancelled []string
	silent    bool                              // sbatch submits a job and reports a failure
	replaced  map[string]func() (string, error) // commands that a test replaces, by name
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, replaced: map[string]func() (string, error){}}
}

// replace makes a command of Slurm print a text or fail.
func (c *cluster) replace(name, out string, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.replaced[name] = func() (string, error) { return out, err }
}

// call runs a command of the cluster.
func (c *cluster) call(_ context.Context, dir, name string, args ...string) (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if f := c.replaced[name]; f != nil {
		return f()
	}
	switch name {
	case "squeue":
		return c.lines, nil
	case "scancel":
		c.cancelled = append(c.cancelled, args...)
		return "", nil
	case "sbatch":
		return c.accept(dir, args[len(args)-1])
	}
	return "", missingError{name}
}

// accept submits a script.
func (c *cluster) accept(dir, script string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, script))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), "\n#SBATCH --array=")
	array, _, _ := strings.Cut(rest, "\n")
	c.dirs = append(c.dirs, dir)
	c.lines += fmt.Sprintf("%d|%s|PENDING|None|%s\n", len(c.dirs), array, dir)
	if c.silent {
		return "", errors.New("sbatch: error: Socket timed out")
	}
	return fmt.Sprintln(len(c.dirs)), nil
}

// jobs returns the folders of the submitted jobs.
func (c *cluster) jobs() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.dirs)
}

// finishAllButTwo finishes the tasks of job 1 except for the one of point "two", which Slurm ends by its time limit. It
// returns that task.
func (c *cluster) finishAllButTwo(t *testing.T, finish func(dir string, task int)) (lost int) {
	t.Helper()
	dir := c.submitted(1)[0]
	f, err := OpenFolder(room(), dir)
	if err != nil {
		t.Error(err)
		return 0
	}
	for task, ids := range f.Job.Tasks {
		if f.runs[ids[0]].Point[0].Text == "two" {
			lost = task
		} else {
			finish(dir, task)
		}
	}
	c.replace("sacct", fmt.Sprintf("1_%d|TIMEOUT|0:0\n", lost), nil)
	c.queue()
	return lost
}

// queue sets the tasks that wait or run.
func (c *cluster) queue(lines ...string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.lines = strings.Join(lines, "\n")
}

// submitted waits for a number of jobs.
func (c *cluster) submitted(n int) []string {
	c.t.Helper()
	c.until(fmt.Sprintf("%d jobs", n), func() bool { return len(c.jobs()) >= n })
	return c.jobs()
}

// until waits in a bubble until a condition holds.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Hour {
			c.t.Errorf("waited for %s", what)
			return
		}
	}
}

// execution is an execution on the cluster, with its notices.
type execution struct {
	out     *results.Outcome
	err     error
	notices []string
}

// execute runs an experiment on the cluster. Meanwhile the function acts as the cluster.
func (c *cluster) execute(ctx context.Context, text, into string, meanwhile func()) (x execution) {
	t := c.t
	t.Helper()
	var lock sync.Mutex
	r := &Runner{Options: quick(), commands: c.call, program: small(t), Notice: func(text string) {
		lock.Lock()
		defer lock.Unlock()
		x.notices = append(x.notices, text)
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		meanwhile()
	}()
	x.out, x.err = run.Execute(ctx, plantest.Load(t, room(), text, experiment.Options{}),
		run.Options{Dir: into, Executable: "e", Command: "weir run test.yaml", Runner: r})
	<-done
	return x
}

// sameAsLocal compares a folder with a local sweep: it must contain no file of Slurm.
func sameAsLocal(t *testing.T, text, dir string) {
	t.Helper()
	if a, b := contents(t, local(t, text)), contents(t, dir); !maps.Equal(a, b) {
		t.Errorf("%q and %q, or what they have, differ", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
}

// TestRunner_MatchesLocalSweep checks that a sweep on a cluster writes the files of a local one.
func TestRunner_MatchesLocalSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		x := c.execute(t.Context(), six, t.TempDir(), func() {
			dir := c.submitted(1)[0]
			carry(t, dir, 0, 5, 1, 4, 2, 3)
			c.queue()
		})
		if x.err != nil || x.out.Missing > 0 || !slices.Equal(x.notices, []string{"job 1: 6 tasks of slurm/1"}) {
			t.Fatalf("%+v", x)
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestRunnerGoesOn checks that an interrupted execution leaves its tasks in the queue. The next one follows those
// that are still there, takes their results, and submits only the runs that are neither queued nor finished, or
// whose results are damaged.
func TestRunnerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		x := c.execute(ctx, six, into, func() { c.submitted(1); stop() })
		if x.err != nil || x.out.Missing != 6 || len(x.notices) != 2 ||
			x.notices[1] != "the sweep continues on the cluster, and the same command collects its results; scancel 1 stops it" {
			t.Fatalf("%+v", x)
		}
		first := c.jobs()[0]
		carry(t, first, 0, 1, 2)
		f, err := OpenFolder(room(), first)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(results.RunFile(first, f.Job.Tasks[1][0]), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.queue("1|3|RUNNING|None|"+first, "1|4|PENDING|JobHeldUser|"+first)
		x = c.execute(t.Context(), six, into, func() {
			second := c.submitted(2)[1]
			g, err := OpenFolder(room(), second)
			if err != nil || len(g.Job.Tasks) != 2 {
				t.Error(err, g)
			}
			carry(t, first, 3, 4)
			carry(t, second, 0, 1)
			c.queue()
		})
		if x.err != nil || x.out.Missing > 0 || x.notices[0] != "job 2: 2 tasks of slurm/2" {
			t.Fatalf("%+v", x)
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestRunnerFindsJob checks that a job is found by its folder if its number was lost, because the program was
// killed after the submission.
func TestRunnerFindsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		c.execute(ctx, six, into, func() { c.submitted(1); stop() })
		first := c.jobs()[0]
		os.Remove(filepath.Join(first, receipt))
		x := c.execute(t.Context(), six, into, func() {
			carry(t, first, 0, 1, 2, 3, 4, 5)
			c.queue()
		})
		if x.err != nil || x.out.Missing > 0 || len(c.jobs()) != 1 {
			t.Fatalf("%+v %v", x, c.jobs())
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestRunnerDoubts checks that a job is followed even if sbatch reports a failed submission, because the controller
// answered too late.
func TestRunnerDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.silent = true
		x := c.execute(t.Context(), six, t.TempDir(), func() {
			carry(t, c.submitted(1)[0], 0, 1, 2, 3, 4, 5)
			c.until("a receipt", func() bool {
				data, err := os.ReadFile(filepath.Join(c.jobs()[0], receipt))
				return err == nil && string(data) == "[1]\n"
			})
			c.queue()
		})
		if x.err != nil || x.out.Missing > 0 || !slices.Equal(x.notices, []string{"job 1: 6 tasks of slurm/1"}) {
			t.Fatalf("%+v", x)
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestRunnerLoses checks that the runs of a task that ends without them are missing, with Slurm's reason for its
// end. A failing run is reported as in a local sweep. The same command submits both again.
func TestRunnerLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		c.replace("sacct", "1_0|TIMEOUT|0:0\n", nil)
		var lost int
		x := c.execute(t.Context(), three, into, func() {
			lost = c.finishAllButTwo(t, func(dir string, task int) { carry(t, dir, task) })
		})
		want := fmt.Sprintf("task %d of job 1 has ended without 1 of its runs: TIMEOUT (limit 6 min; --slurm-option time=… "+
			"raises it); the same command resubmits them", lost)
		if x.err != nil || x.out.Missing != 1 || len(x.out.Failed) != 1 || len(x.notices) != 2 || x.notices[1] != want {
			t.Fatalf("%+v, want %s", x, want)
		}
		if !strings.HasPrefix(x.out.Failed[0].Err.Error(), "panic: a mistake of the scheme") {
			t.Error(x.out.Failed)
		}
		x = c.execute(t.Context(), three, into, func() {
			carry(t, c.submitted(2)[1], 0, 1)
			c.queue()
		})
		if x.err != nil || x.out.Missing > 0 || len(x.out.Failed) != 1 ||
			!slices.Equal(x.notices, []string{"job 2: 2 tasks of slurm/1"}) {
			t.Fatalf("%+v", x)
		}
	})
}

// TestRunnerCancels checks that tasks that are still in the queue when all their runs are finished are cancelled.
func TestRunnerCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		x := c.execute(t.Context(), six, t.TempDir(), func() { carry(t, c.submitted(1)[0], 0, 1, 2, 3, 4, 5) })
		if x.err != nil || !slices.Equal(c.cancelled, []string{"1"}) {
			t.Errorf("%v %q", x.err, c.cancelled)
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestRunnerErrors checks that a refusal by Slurm, or a machine without it, is an immediate error that leaves no
// files.
func TestRunnerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		c.replace("sbatch", "", errors.New("sbatch: error: invalid partition specified: nowhere"))
		x := c.execute(t.Context(), six, into, func() {})
		if x.err == nil ||
			!strings.Contains(x.err.Error(), "sbatch: error: invalid partition specified: nowhere; 0 of 6 runs") {
			t.Errorf("%+v %v", x, x.err)
		}
		if _, err := os.Stat(filepath.Join(x.out.Dir, "slurm")); !os.IsNotExist(err) {
			t.Error(err)
		}
		c.replace("sbatch", "what\n", nil)
		if x = c.execute(t.Context(), six, into, func() {}); x.err == nil ||
			!strings.Contains(x.err.Error(), `its output "what\n" has no job number`) {
			t.Errorf("%+v %v", x, x.err)
		}
		base := filepath.Join(x.out.Dir, "slurm")
		if err := os.Mkdir(base, 0o700); err != nil {
			t.Fatal(err)
		}
		claim, err := atomicfile.Claim(filepath.Join(base, "follow"))
		if err != nil {
			t.Fatal(err)
		}
		if x = c.execute(t.Context(), six, into, func() {}); x.err == nil ||
			!strings.Contains(x.err.Error(), "another process already follows this sweep; stop it first") {
			t.Errorf("%+v %v", x, x.err)
		}
		claim.Discard()
		c.replace("squeue", "", missingError{"squeue"})
		if x = c.execute(t.Context(), six, into, func() {}); x.err == nil ||
			!strings.Contains(x.err.Error(), "this machine has no squeue") {
			t.Errorf("%+v %v", x, x.err)
		}
		if x = c.execute(t.Context(), six, "", func() {}); x.err == nil ||
			!strings.Contains(x.err.Error(), "results folder") {
			t.Errorf("%+v %v", x, x.err)
		}
	})
}

// TestRunnerSeedsByNeed checks that seeds by need are submitted when they are needed, and are the same as on one
// machine.
func TestRunnerSeedsByNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const need = `duration: 100ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 5Mbps, delay: 1ms, buffer: 24 packets}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s, pattern: poisson}]
sweep: {rate: [1Mbps, 4Mbps]}
repeat: {measure: goodput.x, until: 4%, least: 2, most: 40}
measure: [goodput]
`
		c, jobs := newCluster(t), 0
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		over := make(chan struct{})
		go func() { // the cluster
			defer close(over)
			for ctx.Err() == nil {
				all := c.jobs()
				if len(all) == jobs {
					time.Sleep(5 * time.Millisecond)
					continue
				}
				f, err := OpenFolder(room(), all[jobs])
				if err != nil { // it is being written
					continue
				}
				for task := range f.Job.Tasks {
					if _, err := f.ExecuteTask(ctx, task, 1, func(string) {}); err != nil {
						t.Error(err)
					}
				}
				c.queue()
				jobs++
			}
		}()
		x := c.execute(t.Context(), need, t.TempDir(), func() {})
		stop()
		<-over
		if x.err != nil || x.out.Missing > 0 || jobs < 2 {
			t.Fatalf("%+v %v, %d jobs", x, x.err, jobs)
		}
		here, err := os.ReadFile(filepath.Join(local(t, need), "runs.json"))
		if err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadFile(filepath.Join(x.out.Dir, "runs.json")); err != nil || string(there) != string(here) {
			t.Errorf("%v: %s, not %s", err, there, here)
		}
	})
}
