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

	"weir/internal/revision"
	"weir/papers/p4abc"
	"weir/study/plan/plantest"
	"weir/study/results"
	"weir/study/run"
	"weir/study/spec"
)

func registry() *spec.Registry { return plantest.Registry(p4abc.Scheme(), "../../../papers/p4abc") }

// sweepOf is an experiment of so many short runs.
func sweepOf(t testing.TB, runs int) *spec.Spec {
	t.Helper()
	return plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", fmt.Sprintf("repeat: %d", runs/2), 1)+
		plantest.SmallTraffic+"switch: [forward]\nsweep: {rate: [500kbps, 1Mbps]}\nmeasure: [goodput, delay]\n",
		spec.Options{})
}

// contents of a results folder: names and bytes, without what is the machine's and the queue's.
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

// here is what one machine gives.
func here(t testing.TB, s *spec.Spec) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if _, err := run.Execute(t.Context(), s, run.Options{Dir: dir, Executable: executable}); err != nil {
		t.Fatal(err)
	}
	return contents(t, dir)
}

// told are the notices of a test.
type told struct {
	lock sync.Mutex
	all  []string
}

func (o *told) hear(text string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.all = append(o.all, text)
}

// has reports whether one has this part.
func (o *told) has(part string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return slices.ContainsFunc(o.all, func(s string) bool { return strings.Contains(s, part) })
}

// count is how many have this part.
func (o *told) count(part string) (n int) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, s := range o.all {
		n += strings.Count(s, part)
	}
	return n
}

// until waits for something that comes for sure.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 60*time.Second {
			t.Error("waited for " + what)
			return
		}
	}
}

// party is a coordinator with workers of this process.
type party struct {
	t      testing.TB
	told   *told
	config Config
	dir    string
	join   chan string
	ctx    context.Context
	stop   context.CancelFunc
	group  sync.WaitGroup

	progress func(run.Progress)
	made     atomic.Int64
	halted   <-chan struct{}
}

func newParty(t testing.TB) *party {
	p := &party{t: t, told: &told{}, dir: t.TempDir(), join: make(chan string, 1)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.config = Config{Registry: registry(), Revision: revision.This(), Listen: "127.0.0.1:0", Jobs: -1,
		OnNotice: p.told.hear,
		patience: 2 * time.Second, joined: func(file string) { p.join <- file }}
	t.Cleanup(p.end)
	return p
}

// interruption is for the first execution of a sweep, which ends with it when some runs are done. Workers that wait
// keep the rest from being made before: what a new worker makes is done all at once when another has made one of its
// runs, too.
func (p *party) interruption() context.Context {
	ctx, stop := context.WithCancel(p.t.Context())
	p.halted, p.config.change = ctx.Done(), p.waits
	p.progress = func(now run.Progress) {
		if now.Done > 5 {
			stop()
		}
	}
	return ctx
}

// waits is what a worker does with a result.
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

// unhurried is for tests in which nobody may be thought to be lost, however busy the machine is.
const unhurried = 20 * time.Second

func (p *party) end() {
	p.stop()
	p.group.Wait()
}

// worker adds one. What it returns ends it.
func (p *party) worker(w Worker, j *Join) context.CancelFunc {
	ctx, stop := context.WithCancel(p.ctx)
	w.OnNotice = p.told.hear
	if w.Registry == nil {
		w.Registry = registry()
	}
	if w.Revision == (revision.Revision{}) {
		w.Revision = revision.This()
	}
	w.Jobs = max(w.Jobs, 1)
	p.group.Go(func() {
		if err := w.Work(ctx, j); err != nil {
			p.t.Error(err)
		}
	})
	return stop
}

// guests has workers come when there is a file to join with.
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

// execute carries out an experiment.
func (p *party) execute(ctx context.Context, s *spec.Spec) (*results.Outcome, *Coordinator, error) {
	c := New(p.config)
	o, err := run.Execute(ctx, s, run.Options{Dir: p.dir, Executable: executable, Runner: c, OnProgress: p.progress,
		OnNotice: p.told.hear})
	return o, c, err
}

// same holds a folder against what one machine gives.
func (p *party) same(want map[string]string) {
	p.t.Helper()
	got := contents(p.t, p.dir)
	if !maps.Equal(got, want) {
		p.t.Errorf("%d files, want %d, or what they have differs", len(got), len(want))
	}
}

// Workers give the same bytes as one machine, alone or beside the coordinator's own, and the queue is gone then.
func TestSameBytes(t *testing.T) {
	s := sweepOf(t, 40)
	want := here(t, s)
	for _, x := range []struct{ own, workers int }{{2, 0}, {-1, 1}, {-1, 3}, {1, 2}} {
		t.Run(fmt.Sprintf("%d own, %d", x.own, x.workers), func(t *testing.T) {
			p := newParty(t)
			p.config.patience = unhurried
			p.config.Jobs = x.own
			p.guests(func(j *Join) {
				for i := range x.workers {
					p.worker(Worker{Name: fmt.Sprintf("w%d", i)}, j)
				}
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
				t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
			}
			p.same(want)
			status := c.Status()
			if status.Done != 40 || status.Queued != 0 || status.Failed+status.Lost+status.SetAside > 0 {
				t.Errorf("%+v", status)
			}
			if left, _ := filepath.Glob(filepath.Join(p.dir, "*", "queue")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
			t.Logf("%+v", status)
		})
	}
}

// A run that is an error is tried by several workers, and is reported then with what one machine says; the others are
// kept.
func TestErrors(t *testing.T) {
	s := plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", "repeat: 1", 1)+plantest.SmallTraffic+
		"switch: [$x]\nsweep: {x: [forward, crash], rate: [1Mbps]}\nmeasure: [goodput]\n", spec.Options{})
	p := newParty(t)
	p.guests(func(j *Join) {
		p.worker(Worker{Name: "a"}, j)
		p.worker(Worker{Name: "b"}, j)
	})
	o, _, err := p.execute(t.Context(), s)
	if err != nil || len(o.Runs) != 1 || len(o.Failed) != 1 ||
		!strings.Contains(o.Failed[0].Err.Error(), "panic: a mistake of the scheme") {
		t.Errorf("%v, %d runs, failed %v", err, len(o.Runs), o.Failed)
	}
}

// A worker that alters results is set aside, whenever it begins to; all that it has made is made again, also what was
// kept before.
func TestLiar(t *testing.T) {
	s := sweepOf(t, 60)
	want := here(t, s)
	for _, from := range []int{0, 10} {
		for _, own := range []int{-1, 1} {
			if testing.Short() && (from > 0 || own > 0) {
				continue
			}
			t.Run(fmt.Sprintf("from %d, own %d", from, own), func(t *testing.T) {
				p := newParty(t)
				p.config.Jobs, p.config.draw = own, func() bool { return true }
				var lies int
				lie := func(data []byte) []byte {
					if lies++; lies <= from {
						return data
					}
					r, err := results.ReadRun(data)
					if err != nil {
						t.Error(err)
					}
					r.Events++
					return r.Json(true)
				}
				p.guests(func(j *Join) {
					p.worker(Worker{Name: "liar", change: lie}, j)
					p.worker(Worker{Name: "honest"}, j)
				})
				o, c, err := p.execute(t.Context(), s)
				if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
					t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
				}
				p.same(want)
				if status := c.Status(); status.SetAside != 1 || !p.told.has("liar is set aside") {
					t.Errorf("%+v, %q", status, p.told.all)
				}
				t.Logf("%q", p.told.all)
			})
		}
	}
}

// What cannot be a run's result is found without comparing.
func TestNonsense(t *testing.T) {
	s := sweepOf(t, 10)
	want := here(t, s)
	for name, change := range map[string]func([]byte) []byte{
		"cut":   func(data []byte) []byte { return data[:len(data)/2] },
		"empty": func([]byte) []byte { return []byte{} },
		"flipped": func(data []byte) []byte {
			data = slices.Clone(data)
			data[len(data)/2] ^= 1
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				p.worker(Worker{Name: "liar", change: change}, j)
				until(t, "it is found out", func() bool { return p.told.has("liar is set aside") })
				p.worker(Worker{Name: "honest"}, j)
			})
			o, _, err := p.execute(t.Context(), s)
			if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
				t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
			}
			p.same(want)
		})
	}
}

// A worker of another revision is refused by name, and one without the key is not let in.
func TestRefused(t *testing.T) {
	s := sweepOf(t, 4)
	p := newParty(t)
	other := revision.This()
	other.Arch = "m68k"
	p.guests(func(j *Join) {
		p.worker(Worker{Name: "amiga", Revision: other}, j)
		stranger := Worker{Name: "stranger", Registry: registry(), Revision: revision.This()}
		if err := stranger.Work(p.ctx, &Join{Address: j.Address}); err == nil ||
			!strings.Contains(err.Error(), "lets nobody in without credentials") {
			t.Error(err)
		}
		until(t, "a refusal", func() bool { return p.told.has("architecture m68k") })
		p.worker(Worker{Name: "same"}, j)
	})
	o, c, err := p.execute(t.Context(), s)
	if err != nil || len(o.Runs) != 4 {
		t.Fatalf("%v, %d runs", err, len(o.Runs))
	}
	if w := c.Status().Workers; len(w) != 1 || w[0].Name != "same" {
		t.Errorf("%+v", w)
	}
}

// Ends of workers while runs go on lose nothing: another makes them.
func TestWorkersGo(t *testing.T) {
	s := sweepOf(t, 60)
	want := here(t, s)
	p := newParty(t)
	p.guests(func(j *Join) {
		for i := range 6 {
			stop := p.worker(Worker{Name: fmt.Sprintf("w%d", i)}, j)
			time.Sleep(50 * time.Millisecond)
			stop()
		}
		p.worker(Worker{Name: "last"}, j)
	})
	o, _, err := p.execute(t.Context(), s)
	if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
}

// An interrupted coordinator keeps what it has, and the next one goes on with the same workers, at the same address.
func TestInterrupted(t *testing.T) {
	s := sweepOf(t, 60)
	want := here(t, s)
	p := newParty(t)
	p.config.Jobs = 1
	p.guests(func(j *Join) {
		p.worker(Worker{Name: "a", change: p.waits}, j)
		p.worker(Worker{Name: "b", change: p.waits}, j)
	})
	o, _, err := p.execute(p.interruption(), s)
	if err != nil || len(o.Failed) > 0 || len(o.Runs) == 0 || o.Missing == 0 {
		t.Fatalf("%v, %d runs, %d missing, failed %v", err, len(o.Runs), o.Missing, o.Failed)
	}
	if o, _, err = p.execute(t.Context(), s); err != nil || o.Missing > 0 || len(o.Failed) > 0 || o.Found == 0 {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
}
