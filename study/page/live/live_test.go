package live_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/runtest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/page/live"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

func manager(t *testing.T, dir string) *live.Manager {
	m := live.New(live.Config{Dir: dir, Executable: "0123", Jobs: func(*experiment.Spec) (int, string, error) {
		return 1, "one at a time", nil
	}})
	t.Cleanup(m.Close)
	return m
}

// loadQuick loads the quick variant of an experiment of the catalogue, with the given changes (KEY=VALUE).
func loadQuick(t *testing.T, name string, set ...string) *experiment.Spec {
	t.Helper()
	return runtest.Load(t, app.Registry(), name, experiment.Options{Quick: true, Set: set})
}

// until waits until a condition about a job holds.
func until(j *live.Job, holds func(live.Status) bool) live.Status {
	for {
		changed := j.Changed()
		if s := j.Status(); holds(s) {
			return s
		}
		<-changed
	}
}

// gate passes the packets of one run and holds the packets of all others until it is opened.
type gate struct {
	lock   sync.Mutex
	passes *gateProgram // of the first run that has a packet
	opened chan struct{}
}

// gateProgram is the program of one switch.
type gateProgram struct{ of *gate }

func (*gateProgram) Name() string { return "gate" }
func (p *gateProgram) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	p.of.lock.Lock()
	if p.of.passes == nil {
		p.of.passes = p
	}
	first := p.of.passes == p
	p.of.lock.Unlock()
	if !first {
		<-p.of.opened
	}
	return dataplane.Accept
}

// gated returns an experiment of four runs. All but the first wait for a gate.
func gated(t *testing.T) (*gate, *experiment.Spec, *experiment.Registry) {
	t.Helper()
	g := &gate{opened: make(chan struct{})}
	r := plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
	r.Programs = append(r.Programs, dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "gate", Doc: "holds packets", Source: "tests"},
		Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return &gateProgram{g}, nil },
	})
	text := strings.Replace(plantest.Small, "repeat: 2", "repeat: 4", 1) + plantest.SmallTraffic +
		"switch: [gate]\nsweep: {rate: [1Mbps]}\nmeasure: [goodput]\n"
	return g, plantest.Load(t, r, text, experiment.Options{}), r
}

func over(s live.Status) bool { return s.State.Over() }

// TestJob_WritesSameBytesAsRun checks that a job writes the same bytes as an unobserved weir run, and films of its
// runs.
func TestJob_WritesSameBytesAsRun(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	s := loadQuick(t, "p4abc/fig5", "n=1")
	j, err := manager(t, dir).QueueExperiment(s, "weir run", nil)
	if err != nil {
		t.Fatal(err)
	}
	status := until(j, over)
	if status.State != live.Done || status.Outcome == nil || len(status.Outcome.Runs) != 2 ||
		len(status.HasFilms) != 2 || len(status.Notices) != 1 {
		t.Fatalf("%+v", status)
	}
	for i, each := range status.RunStates {
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

// TestJob_StopKeepsFinishedRuns checks that a stopped job keeps its finished runs, and the next one continues with the
// rest.
func TestJob_StopKeepsFinishedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		m := manager(t, dir)
		g, s, registry := gated(t)
		j, err := m.QueueExperiment(s, "weir run", nil)
		if err != nil {
			t.Fatal(err)
		}
		waiting, err := m.QueueExperiment(s, "weir run", nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the second run waits at the gate
		if s := j.Status(); s.State != live.Running || s.Far.Done != 1 || waiting.State() != live.Waiting {
			t.Fatalf("%+v, and the second job is %s", s, waiting.State())
		}
		waiting.Stop()
		j.Stop()
		close(g.opened)
		status := until(j, over)
		if status.State != live.Stopped || status.Outcome == nil || len(status.Outcome.Runs) == 0 ||
			status.Outcome.Missing == 0 {
			t.Fatalf("%+v", status)
		}
		if waiting.State() != live.Stopped {
			t.Errorf("the second job is %s", waiting.State())
		}
		o, err := results.Open(registry, status.Outcome.Dir)
		if err != nil || len(o.Runs) != len(status.Outcome.Runs) {
			t.Errorf("kept: %v, %v", o, err)
		}
	})
}

// TestManager_CloseStopsRunningJob checks that a closed manager stops the running job, keeps the finished runs and
// takes no more jobs.
func TestManager_CloseStopsRunningJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, t.TempDir())
		g, s, _ := gated(t)
		j, err := m.QueueExperiment(s, "weir run", nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		go m.Close()
		synctest.Wait() // it waits for the second run
		close(g.opened)
		m.Close()
		if s := j.Status(); s.State != live.Stopped || len(s.Outcome.Runs) == 0 || s.Outcome.Missing == 0 {
			t.Errorf("%+v", s)
		}
		if _, err := m.QueueExperiment(s, "", nil); err != live.ErrClosed {
			t.Errorf("a job more: %v", err)
		}
	})
}

// TestManager_RejectsTooManyJobs checks that the last of too many jobs is refused.
func TestManager_RejectsTooManyJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, t.TempDir())
		g, s, _ := gated(t)
		g.passes = &gateProgram{} // no run passes
		accepted := 0
		var err error
		for ; err == nil; accepted++ {
			_, err = m.QueueFilm(plan.ListRuns(s)[0])
		}
		if err != live.ErrBusy || accepted != 33 {
			t.Errorf("job %d: %v", accepted, err)
		}
		for _, x := range m.Jobs() {
			x.Stop()
		}
		close(g.opened)
	})
}

// TestManager_FilmsRunWithoutFolder checks that a single run is repeated without a folder.
func TestManager_FilmsRunWithoutFolder(t *testing.T) {
	dir := t.TempDir()
	m := manager(t, dir)
	j, err := m.QueueFilm(plan.ListRuns(loadQuick(t, "p4abc/fig5"))[3])
	if err != nil {
		t.Fatal(err)
	}
	if s := until(j, over); s.State != live.Done || s.Outcome != nil {
		t.Errorf("%+v", s)
	}
	film(t, j, 3)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it has left %v", left)
	}
	if m.Job(j.ID) != j || m.Job(-1) != nil {
		t.Error("jobs are not found by their numbers")
	}
}
