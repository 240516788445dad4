package jetstream

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/revision"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
)

// TestSameBytes checks that workers give the same bytes as one machine, with or without the coordinator's own
// workers, and that the queue is removed at the end.
func TestSameBytes(t *testing.T) {
	s := sweepOf(t, 20)
	want := here(t, s)
	for _, x := range []struct{ own, workers int }{{2, 0}, {-1, 1}, {-1, 3}, {1, 2}} {
		runBubble(t, fmt.Sprintf("%d own, %d", x.own, x.workers), func(t *testing.T) {
			p := newParty(t)
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
			if status.Done != 20 || status.Queued != 0 || status.Failed+status.Lost+status.Quarantined > 0 {
				t.Errorf("%+v", status)
			}
			if left, _ := filepath.Glob(filepath.Join(p.dir, "*", "queue")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
			t.Logf("%+v", status)
		})
	}
}

// TestCoordinator_ReportsFailedRun checks that a failing run is tried by several workers, and is then reported with
// the error of one of them. The other runs are kept.
func TestCoordinator_ReportsFailedRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", "repeat: 1", 1)+plantest.SmallTraffic+
			"switch: [$x]\nsweep: {x: [forward, crash], rate: [1Mbps]}\nmeasure: [goodput]\n", experiment.Options{})
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
	})
}

// TestCoordinator_QuarantinesLyingWorker checks that a worker that alters results is excluded, no matter when it
// starts. All of its results are repeated, including those that were kept before.
func TestCoordinator_QuarantinesLyingWorker(t *testing.T) {
	s := sweepOf(t, 60)
	want := here(t, s)
	for _, from := range []int{0, 10} {
		for _, own := range []int{-1, 1} {
			if testing.Short() && (from > 0 || own > 0) {
				continue
			}
			runBubble(t, fmt.Sprintf("from %d, own %d", from, own), func(t *testing.T) {
				p := newParty(t)
				p.config.Jobs, p.config.draw = own, func() bool { return true }
				made, lied := 0, make(chan struct{})
				lie := func(data []byte) []byte {
					if made++; made <= from {
						return data
					} else if made == from+1 {
						close(lied)
					}
					r, err := results.ReadRun(data)
					if err != nil {
						t.Error(err)
					}
					r.Events++
					return r.EncodeJSON(true)
				}
				wait := func(data []byte) []byte { <-lied; return data } // so that the liar makes more than from results
				p.config.change = wait
				p.guests(func(j *Join) {
					p.worker(Worker{Name: "liar", change: lie}, j)
					p.worker(Worker{Name: "honest", change: wait}, j)
				})
				o, c, err := p.execute(t.Context(), s)
				if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
					t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
				}
				p.same(want)
				if status := c.Status(); status.Quarantined != 1 || !p.notices.has("liar is excluded") {
					t.Errorf("%+v, %q", status, p.notices.texts())
				}
				t.Logf("%q", p.notices.texts())
			})
		}
	}
}

// TestCoordinator_RejectsInvalidResults checks that data that cannot be a run's result is detected without a
// comparison.
func TestCoordinator_RejectsInvalidResults(t *testing.T) {
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
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				p.worker(Worker{Name: "liar", change: change}, j)
				until(t, "it is found out", func() bool { return p.notices.has("liar is excluded") })
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

// TestCoordinator_RejectsOtherRevisions checks that a worker of another revision is refused by name, and that a
// worker without the key cannot connect.
func TestCoordinator_RejectsOtherRevisions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 4)
		p := newParty(t)
		other := revision.This()
		other.Arch = "m68k"
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "amiga", Revision: other}, j)
			stranger := Worker{Name: "stranger", Registry: registry(), Revision: revision.This(),
				transport: p.network.transport()}
			if err := stranger.ExecuteRuns(p.ctx, &Join{Address: j.Address}); err == nil ||
				!strings.Contains(err.Error(), "requires credentials") {
				t.Error(err)
			}
			until(t, "a refusal", func() bool { return p.notices.has("architecture m68k") })
			p.worker(Worker{Name: "same"}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || len(o.Runs) != 4 {
			t.Fatalf("%v, %d runs", err, len(o.Runs))
		}
		if w := c.Status().Workers; len(w) != 1 || w[0].Name != "same" {
			t.Errorf("%+v", w)
		}
	})
}

// TestWorkersGo checks that the sweep loses no run when workers end during runs: other workers repeat them.
func TestWorkersGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 30)
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
	})
}

// TestCoordinator_ResumesAfterInterruption checks that an interrupted coordinator keeps its results, and that the
// next one continues with the same workers, at the same address.
func TestCoordinator_ResumesAfterInterruption(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 30)
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
	})
}
