package live_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/cmd/weir/cli"
	"weir/study/page/live"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/runtest"
	"weir/study/spec"
)

func manager(t *testing.T, dir string) *live.Manager {
	m := live.New(live.Config{Dir: dir, Executable: "0123", Jobs: func(*spec.Spec) (int, string, error) {
		return 1, "one at a time", nil
	}})
	t.Cleanup(m.Close)
	return m
}

func load(t *testing.T, name string, set ...string) *spec.Spec {
	return runtest.Load(t, cli.Registry(), name, spec.Options{Quick: true, Set: set})
}

// until waits for something about a job.
func until(t *testing.T, j *live.Job, what string, is func(live.Status) bool) live.Status {
	t.Helper()
	for end := time.After(60 * time.Second); ; {
		changed := j.Changed()
		s := j.Status()
		if is(s) {
			return s
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		case <-end:
			t.Fatalf("it does not come to be %s: %+v", what, s)
		}
	}
}

func over(s live.Status) bool { return s.State.Over() }

// A job leaves the same bytes as weir run without anybody who looks on, and films of its runs.
func TestJob(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	s := load(t, "p4abc/fig5", "n=1")
	j, err := manager(t, dir).Start(s, "weir run", nil)
	if err != nil {
		t.Fatal(err)
	}
	status := until(t, j, "over", over)
	if status.State != live.Done || status.Outcome == nil || len(status.Outcome.Runs) != 2 ||
		len(status.HasFilms) != 2 || len(status.Notices) != 1 {
		t.Fatalf("%+v", status)
	}
	for i, each := range status.Each {
		if each != live.RunFinished {
			t.Errorf("run %d is %q", i, each)
		}
	}
	o, err := run.Execute(t.Context(), s, run.Options{Dir: other, Executable: "0123", Command: "weir run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Runs {
		name := filepath.Join(filepath.Base(o.Dir), "runs", r.ID+".json")
		a, errA := os.ReadFile(filepath.Join(dir, name))
		b, errB := os.ReadFile(filepath.Join(other, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same: %v, %v", name, errA, errB)
		}
	}
	film(t, j, 0)
}

// film checks a film.
func film(t *testing.T, j *live.Job, run int) {
	t.Helper()
	f, is := j.Film(run, -1, 0)
	if !is || !f.Ended || len(f.Frames) < 100 || len(f.Frames) > 480 {
		t.Fatalf("there is a film: %v, which has ended: %v, with %d frames", is, f.Ended, len(f.Frames))
	}
	queued, flows := false, false
	for i, x := range f.Frames {
		if i > 0 && x.T <= f.Frames[i-1].T {
			t.Fatalf("frame %d is of %v s, after %v s", i, x.T, f.Frames[i-1].T)
		}
		for p := range x.Queues {
			queued = queued || x.Queues[p] > 0
			if i > 0 && (x.Sent[p] < f.Frames[i-1].Sent[p] || x.Drops[p] < f.Frames[i-1].Drops[p]) {
				t.Fatalf("frame %d has less of port %d than the one before", i, p)
			}
		}
		flows = flows || len(x.Flows) == 2
	}
	last := f.Frames[len(f.Frames)-1]
	if !queued || !flows || last.Traffic[0] == 0 || last.Traffic[1] == 0 {
		t.Errorf("queued %v, flows %v, received %v", queued, flows, last.Traffic)
	}
	if more, _ := j.Film(run, f.Epoch, len(f.Frames)); len(more.Frames) != 0 || more.From != len(f.Frames) {
		t.Errorf("who has seen all is given %d frames from %d on", len(more.Frames), more.From)
	}
	if all, _ := j.Film(run, f.Epoch-1, 7); all.From != 0 || len(all.Frames) != len(f.Frames) {
		t.Errorf("who has seen frames that were left out is given %d from %d on", len(all.Frames), all.From)
	}
}

// Stopped, a job keeps what is finished, and the next one goes on with the rest.
func TestStop(t *testing.T) {
	dir := t.TempDir()
	m := manager(t, dir)
	s := load(t, "p4abc/fig5", "duration=60s")
	j, err := m.Start(s, "weir run", nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := m.Start(s, "weir run", nil)
	if err != nil {
		t.Fatal(err)
	}
	until(t, j, "under way with one run finished", func(s live.Status) bool {
		return s.State == live.Running && s.Far.Done >= 1
	})
	if waiting.State() != live.Waiting {
		t.Errorf("the second job is %s", waiting.State())
	}
	waiting.Stop()
	j.Stop()
	status := until(t, j, "over", over)
	if status.State != live.Stopped || status.Outcome == nil || len(status.Outcome.Runs) == 0 ||
		status.Outcome.Missing == 0 {
		t.Fatalf("%+v", status)
	}
	if waiting.State() != live.Stopped {
		t.Errorf("the second job is %s", waiting.State())
	}
	o, err := results.Open(cli.Registry(), status.Outcome.Dir)
	if err != nil || len(o.Runs) != len(status.Outcome.Runs) {
		t.Errorf("kept: %v, %v", o, err)
	}
}

// Closed, the manager stops what is under way and keeps what is finished; it takes nothing more.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	m := manager(t, dir)
	j, err := m.Start(load(t, "p4abc/fig5", "duration=60s"), "weir run", nil)
	if err != nil {
		t.Fatal(err)
	}
	until(t, j, "under way with one run finished", func(s live.Status) bool { return s.Far.Done >= 1 })
	m.Close()
	if s := j.Status(); s.State != live.Stopped || len(s.Outcome.Runs) == 0 {
		t.Errorf("%+v", s)
	}
	if _, err := m.Start(load(t, "p4abc/fig5"), "", nil); err != live.ErrClosed {
		t.Errorf("a job more: %v", err)
	}
}

// A single run is carried out again without a folder; of too many jobs the last one is refused.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	m := manager(t, dir)
	r := plan.Runs(load(t, "p4abc/fig5"))[3]
	j, err := m.Watch(r)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err = m.Watch(r); err != nil {
			break
		}
	}
	if err != live.ErrBusy {
		t.Errorf("a hundred jobs: %v", err)
	}
	if s := until(t, j, "over", over); s.State != live.Done || s.Outcome != nil {
		t.Errorf("%+v", s)
	}
	film(t, j, 3)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it has left %v", left)
	}
	for _, x := range m.Jobs() {
		x.Stop()
	}
	if m.Job(j.ID) != j || m.Job(-1) != nil {
		t.Error("jobs are not found by their numbers")
	}
}
