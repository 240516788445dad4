package jetstream

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/internal/revision"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

func registry() *experiment.Registry {
	return plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
}

// sweepOf loads an experiment of a number of short runs.
func sweepOf(t testing.TB, runs int) *experiment.Spec {
	t.Helper()
	s, err := loadSweep(runs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loadSweep(runs int) (*experiment.Spec, error) {
	text := strings.Replace(plantest.Small, "repeat: 2", fmt.Sprintf("repeat: %d", runs/2), 1) + plantest.SmallTraffic +
		"switch: [forward]\nsweep: {rate: [500kbps, 1Mbps]}\nmeasure: [goodput, delay]\n"
	return plan.Load(registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
}

// contents returns the files of a results folder by name, without data about the machine and the queue.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "host.") {
			if e != nil && e.IsDir() && e.Name() == "queue" {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// executable is the program's part of ids in these tests.
const executable = "e"

// machineResults are the results of one machine, by experiment. Most tests use the same sweeps.
var machineResults = struct {
	sync.Mutex
	files map[string]map[string]string
}{files: map[string]map[string]string{}}

// here returns the results of one machine: the contents of its results folder, which callers must not change.
func here(t testing.TB, s *experiment.Spec) map[string]string {
	t.Helper()
	machineResults.Lock()
	defer machineResults.Unlock()
	if files, made := machineResults.files[string(s.Resolved())]; made {
		return files
	}
	dir := t.TempDir()
	if _, err := run.Execute(t.Context(), s, run.Options{Dir: dir, Executable: executable}); err != nil {
		t.Fatal(err)
	}
	files := contents(t, dir)
	machineResults.files[string(s.Resolved())] = files
	return files
}

// notices collects the notices of a test.
type notices struct {
	lock sync.Mutex
	all  []string
}

func (o *notices) add(text string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.all = append(o.all, text)
}

// has reports whether one has this part.
func (o *notices) has(part string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return slices.ContainsFunc(o.all, func(s string) bool { return strings.Contains(s, part) })
}

// texts returns all notices until now.
func (o *notices) texts() []string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return slices.Clone(o.all)
}

// count returns the number of notices that contain part.
func (o *notices) count(part string) (n int) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, s := range o.all {
		n += strings.Count(s, part)
	}
	return n
}

// until waits in a bubble until a condition holds. The bubble's clock moves only when every goroutine waits.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Hour {
			t.Error("waited for " + what)
			return
		}
	}
}

// party is a coordinator with workers of this process.
type party struct {
	*network // nil: TCP
	t        testing.TB
	notices  *notices
	config   Config
	dir      string
	join     chan string
	ctx      context.Context
	stop     context.CancelFunc
	group    sync.WaitGroup

	progress func(run.Progress)
	made     atomic.Int64
	halted   <-chan struct{}
}

// newParty returns a party of a bubble. Its coordinator and workers use a network of their own.
func newParty(t testing.TB) *party {
	p := newTCPParty(t)
	p.connect(newNetwork())
	return p
}

// connect has the party use a network.
func (p *party) connect(n *network) {
	p.network, p.config.transport = n, n.transport()
}

// newTCPParty returns a party whose server listens.
func newTCPParty(t testing.TB) *party {
	p := &party{t: t, notices: &notices{}, dir: t.TempDir(), join: make(chan string, 1)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.config = Config{Registry: registry(), Revision: revision.This(), Listen: "127.0.0.1:0", Jobs: -1,
		OnNotice: p.notices.add,
		joined:   func(file string) { p.join <- file }}
	t.Cleanup(p.end)
	return p
}

// interruption returns a context for the first execution of a sweep, which ends when some runs are finished.
// Workers that wait delay the other runs until then, because the results of a new worker count all at once when
// another worker has repeated one of its runs.
func (p *party) interruption() context.Context {
	ctx, stop := context.WithCancel(p.t.Context())
	p.halted, p.config.change = ctx.Done(), p.waits
	p.config.storage = jetstream.FileStorage // the next execution finds the queue
	p.progress = func(now run.Progress) {
		if now.Done > 5 {
			stop()
		}
	}
	return ctx
}

// waits is a worker's change of a result that delays it.
func (p *party) waits(data []byte) []byte {
	if p.made.Add(1) > 10 {
		halfSecond(p.halted)
	}
	return data
}

// halfSecond waits for the end of an execution, but not longer, for it may need one more result.
func halfSecond(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(500 * time.Millisecond):
	}
}

func (p *party) end() {
	p.stop()
	p.group.Wait()
}

// worker adds a worker. The returned function ends it.
func (p *party) worker(w Worker, j *Join) context.CancelFunc {
	ctx, stop := context.WithCancel(p.ctx)
	w.OnNotice = p.notices.add
	if w.Registry == nil {
		w.Registry = registry()
	}
	if w.Revision == (revision.Revision{}) {
		w.Revision = revision.This()
	}
	if w.dialer == nil && p.network != nil {
		w.transport = p.network.transport()
	}
	w.Jobs = max(w.Jobs, 1)
	p.group.Go(func() {
		if err := w.ExecuteRuns(ctx, j); err != nil {
			p.t.Error(err)
		}
	})
	return stop
}

// guests makes workers join when there is a join file.
func (p *party) guests(come func(j *Join)) {
	p.group.Go(func() {
		select {
		case <-p.ctx.Done():
		case file := <-p.join:
			j, err := ReadJoin(file)
			if err != nil {
				p.t.Error(err)
				return
			}
			come(j)
		}
	})
}

// execute executes an experiment.
func (p *party) execute(ctx context.Context, s *experiment.Spec) (*results.Outcome, *Coordinator, error) {
	c := New(p.config)
	o, err := run.Execute(ctx, s, run.Options{Dir: p.dir, Executable: executable, Runner: c, OnProgress: p.progress,
		OnNotice: p.notices.add})
	return o, c, err
}

// same compares a folder with the results of one machine.
func (p *party) same(want map[string]string) {
	p.t.Helper()
	got := contents(p.t, p.dir)
	if !maps.Equal(got, want) {
		p.t.Errorf("%d files, want %d, or what they have differs", len(got), len(want))
	}
}
