package jetstream

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/remote"
)

// hoard is a program that allocates 4 MB per packet and keeps it, which no estimate includes. After 240 MB it is so
// slow that the worker has time to detect it.
type hoard struct{ all [][]byte }

func (*hoard) Name() string { return "hoard" }
func (h *hoard) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	if h.all = append(h.all, make([]byte, 4<<20)); len(h.all) > 60 {
		time.Sleep(50 * time.Millisecond)
	}
	return dataplane.Accept
}

// sleeper is a program that takes 50 ms of the bubble's time per packet.
type sleeper struct{}

func (sleeper) Name() string { return "sleeper" }
func (sleeper) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	time.Sleep(50 * time.Millisecond)
	return dataplane.Accept
}

// greedy returns a registry with programs that take too much memory or time.
func greedy() *experiment.Registry {
	r := registry()
	for name, program := range map[string]func() dataplane.Program{
		"hoard":   func() dataplane.Program { return &hoard{} },
		"sleeper": func() dataplane.Program { return sleeper{} },
	} {
		r.Programs = append(r.Programs, dataplane.Scheme{
			Scheme: scheme.Scheme{Name: name, Doc: "takes too much", Source: "tests"},
			Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return program(), nil },
		})
	}
	return r
}

// both returns an experiment with a run for each of two programs.
func both(t *testing.T, r *experiment.Registry, one, two string) *experiment.Spec {
	return plantest.Load(t, r, strings.Replace(plantest.Small, "repeat: 2", "repeat: 1", 1)+plantest.SmallTraffic+
		fmt.Sprintf("switch: [$x]\nsweep: {x: [%s, %s], rate: [1Mbps]}\nmeasure: [goodput]\n", one,
			two), experiment.Options{})
}

// TestMemoryLimit checks that a run that takes more memory than was estimated is stopped, and that its error names
// the limit. A concurrent run, which may be stopped with it, gives its result.
func TestMemoryLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := greedy()
		s := both(t, r, "hoard", "forward")
		p := newParty(t)
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "a", Registry: r, Memory: 96 << 20, Jobs: 2}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || len(o.Runs) != 1 || len(o.Failed) != 1 {
			t.Fatalf("%v, %d runs, failed %v", err, len(o.Runs), o.Failed)
		}
		if got := o.Failed[0].Err.Error(); got != "it exceeds the 101 MB of memory per run on this worker" {
			t.Error(got)
		}
		if !strings.Contains(fmt.Sprint(o.Failed[0].Point), "hoard") || c.Status().Lost > 0 {
			t.Errorf("%v, %+v", o.Failed, c.Status())
		}
	})
}

// TestLimits_BlameOnlyRunsTooLargeByThemselves checks that runs that are stopped because their sum is too large are
// repeated one at a time, and that only a run that is too large by itself fails.
func TestLimits_BlameOnlyRunsTooLargeByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime.GC()
		r, room := plan.ListRuns(sweepOf(t, 2))[0], heapInUse()+300e6
		l := &limits{memory: room / 2, jobs: 2, every: time.Millisecond}
		var group sync.WaitGroup
		over, tries := make(chan struct{}), 0
		group.Go(func() {
			_, err := l.runWithin(t.Context(), r, func(ctx context.Context) ([]byte, error) {
				all := make([]byte, int(room))
				if tries++; tries == 1 {
					defer close(over)
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				all[0] = 1
				return nil, ctx.Err()
			})
			if err == nil || !strings.HasPrefix(err.Error(), "it exceeds the ") || tries != 2 {
				t.Errorf("the large one: %v, tried %d times", err, tries)
			}
		})
		group.Go(func() {
			data, err := l.runWithin(t.Context(), r, func(ctx context.Context) ([]byte, error) {
				<-over
				return []byte("x"), ctx.Err()
			})
			if err != nil || string(data) != "x" {
				t.Errorf("the small one: %v", err)
			}
		})
		group.Wait()
	})
}

var garbage []byte

// TestRunWithin_CollectsGarbageFirst checks that garbage counts for no run: it is collected before a run is
// stopped.
func TestRunWithin_CollectsGarbageFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		runtime.GC()
		l := &limits{memory: heapInUse() + 100e6, jobs: 1, every: time.Millisecond}
		collections := func() uint32 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.NumGC
		}
		_, err := l.runWithin(t.Context(), plan.ListRuns(sweepOf(t, 2))[0], func(ctx context.Context) ([]byte, error) {
			before := collections()
			for range 300 {
				garbage = make([]byte, 1<<20)
			}
			until(t, "a collection", func() bool { return collections() > before || ctx.Err() != nil })
			return nil, ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestTimeLimit checks that a run that takes longer than its worker's limit is reported with the limit, and that
// the time of other runs does not count.
func TestTimeLimit(t *testing.T) {
	for longest, fails := range map[time.Duration]int{100 * time.Millisecond: 1, time.Hour: 0} {
		runBubble(t, longest.String(), func(t *testing.T) {
			r := greedy()
			s := both(t, r, "sleeper", "forward")
			p := newParty(t)
			p.guests(func(j *Join) { p.worker(Worker{Name: "a", Registry: r, MaxTime: longest}, j) })
			o, _, err := p.execute(t.Context(), s)
			if err != nil || len(o.Failed) != fails || len(o.Runs) != 2-fails {
				t.Fatalf("%v, %d runs, failed %v", err, len(o.Runs), o.Failed)
			}
			want := "it did not end within 100ms, the time limit per run on this worker"
			if fails > 0 && o.Failed[0].Err.Error() != want {
				t.Error(o.Failed[0].Err)
			}
		})
	}
}

// TestDiskLimit checks that a worker sends results and accepts inputs up to its limit and no byte more. A worker
// that cannot accept an experiment reports the reason and takes no part, without an error of any run, and other
// workers execute it.
func TestDiskLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 2)
		largest, input := 0, 0
		for _, r := range plan.ListRuns(s) {
			data, err := run.SimulateRun(t.Context(), r, executable, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, len(data))
		}
		manifest, files := remote.PackParcel(s)
		for _, data := range append([][]byte{manifest}, files[remote.Digest(manifest)]) {
			input = max(input, len(data))
		}
		for _, data := range files {
			input = max(input, len(data))
		}
		if largest <= input {
			t.Fatalf("results have %d bytes and inputs %d: the limits cannot be told apart", largest, input)
		}
		for most, fails := range map[int]bool{largest: false, largest - 1: true} {
			p := newParty(t)
			p.guests(func(j *Join) { p.worker(Worker{Name: "a", MaxBytes: most}, j) })
			o, _, err := p.execute(t.Context(), s)
			if err != nil || len(o.Failed) > 0 != fails {
				t.Fatalf("%d of %d bytes: %v, failed %v", most, largest, err, o.Failed)
			}
			want := fmt.Sprintf("its result has %d bytes, and this worker allows up to %d", largest, most)
			if fails && o.Failed[0].Err.Error() != want {
				t.Error(o.Failed[0].Err)
			}
		}
		p := newParty(t)
		p.guests(func(j *Join) {
			for _, name := range []string{"a", "b", "c"} {
				p.worker(Worker{Name: name, MaxBytes: input - 1}, j)
				until(t, "a refusal", func() bool {
					return p.notices.has(name + " is refused: the experiment cannot be loaded")
				})
			}
			p.worker(Worker{Name: "d"}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 || c.Status().Lost > 0 {
			t.Fatalf("%v, failed %v, %+v", err, o.Failed, c.Status())
		}
		if !p.notices.has(fmt.Sprintf("it has %d bytes, and this worker accepts up to %d", input, input-1)) {
			t.Errorf("%q", p.notices.texts())
		}
	})
}

// TestCoordinator_ReportsUnfitRunOnce checks that a run that fits no worker is reported once, also when further
// workers join. A worker with exactly the memory of the run's class executes it.
func TestCoordinator_ReportsUnfitRunOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 2)
		need := plan.EstimateMemory(plan.ListRuns(s)[0])
		class := sizeClass(need)
		if need <= float64(int64(1)<<(20+class-1)) || need > float64(int64(1)<<(20+class)) {
			t.Fatalf("%v bytes are of class %d", need, class)
		}
		p := newParty(t)
		enough := float64(int64(1) << (20 + class))
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "small", Memory: enough - 1}, j)
			until(t, "a notice", func() bool {
				return p.notices.has("MB of memory, and no worker allows this much per run; it waits")
			})
			p.worker(Worker{Name: "large", Memory: enough}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, failed %v", err, o.Failed)
		}
		for _, w := range c.Status().Workers {
			if w.Name == "small" && w.Done > 0 {
				t.Errorf("%+v", w)
			}
		}
		if n := p.notices.count("no worker allows this much per run"); n != 1 {
			t.Errorf("told %d times: %q", n, p.notices.texts())
		}
	})
}

// TestSizeClass_FollowsMemory checks that workers take the largest class that fits them first, and each run only if
// it fits.
func TestSizeClass_FollowsMemory(t *testing.T) {
	for memory, want := range map[float64]int{0: 0, 1 << 20: 1, 1<<20 - 1: 0, 35e6: 6, 64 << 20: 7, 64<<20 - 1: 6,
		1 << 60: sizeClasses - 1} {
		if got := sizeClass(memory); got != want {
			t.Errorf("%.0f bytes are of class %d, not %d", memory, got, want)
		}
	}
	for memory, want := range map[float64]int{1: -1, 1<<20 - 1: -1, 1 << 20: 0, 64 << 20: 6, 64<<20 - 1: 5,
		1 << 60: sizeClasses - 1} {
		if got := maxClassWithin(memory); got != want {
			t.Errorf("of %.0f bytes class %d is the largest, not %d", memory, got, want)
		}
	}
	for memory := 1.0; memory < 1e12; memory *= 1.37 {
		if c := sizeClass(memory); c < sizeClasses-1 && memory > float64(int64(1)<<(20+c)) {
			t.Errorf("%.0f bytes are more than those of class %d", memory, c)
		}
	}
}

// TestLimitsOfOne checks that one worker's limits do not fail a run that another worker can execute, and that
// another worker makes its checks.
func TestLimitsOfOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 20)
		want := here(t, s)
		p := newParty(t)
		p.config.draw = func() bool { return true }
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "weak", MaxTime: 1}, j)
			p.worker(Worker{Name: "strong"}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 || c.Status().Quarantined > 0 {
			t.Fatalf("%v, failed %v, %d missing, %v, %q", err, o.Failed, o.Missing, c.Status(), p.notices.texts())
		}
		p.same(want)
	})
}
