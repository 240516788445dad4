package jetstream

import (
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run/remote"
)

// large returns an experiment whose results do not fit into messages.
func large(t *testing.T) *experiment.Spec {
	t.Helper()
	s := plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", "repeat: 1", 1)+plantest.SmallTraffic+
		"switch: [forward]\nsweep: {rate: [500kbps, 1Mbps]}\nmeasure: [{goodput: {every: 3us}}]\n",
		experiment.Options{})
	for _, r := range plan.ListRuns(s) {
		if data := resultHere(t, s, r.ID(executable)); len(data) <= maxInline {
			t.Fatalf("a result has %d bytes only", len(data))
		}
	}
	return s
}

// resultHere returns a run's result as one machine computes it.
func resultHere(t *testing.T, s *experiment.Spec, id string) []byte {
	t.Helper()
	for name, data := range here(t, s) {
		if filepath.Base(name) == id+".json" {
			return []byte(data)
		}
	}
	t.Fatalf("no run %s", id)
	return nil
}

// TestLargeResults checks that results that do not fit into messages arrive over the store, with the same bytes.
func TestLargeResults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := large(t)
		want := here(t, s)
		p := newParty(t)
		p.config.draw = func() bool { return true }
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "a"}, j)
			p.worker(Worker{Name: "b"}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 || c.Status().Quarantined > 0 {
			t.Fatalf("%v, %+v, %v", err, o, c.Status())
		}
		p.same(want)
	})
}

// TestReportedTwice checks that a report that arrives again after its result was taken from the store, or whose
// result was lost, does not exclude the worker. A missing run is repeated.
func TestReportedTwice(t *testing.T) {
	s := large(t)
	want := here(t, s)
	for name, there := range map[string]bool{"twice": true, "gone": false} {
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				w := newPuppet(p, j, "w")
				got, m := w.take()
				data := resultHere(t, s, got.Run)
				conn, js := admin(p, j)
				defer conn.Close()
				store, err := js.ObjectStore(t.Context(), w.about.Sweep.resultStore())
				if err != nil {
					t.Error(err)
					return
				}
				report := func() {
					if err := publishReport(t.Context(), w.conn, w.about.Sweep,
						&done{Worker: "w", Name: "w", Run: got.Run, Digest: remote.Digest(data)}); err != nil {
						t.Error(err)
					}
				}
				if there {
					sender := &workerState{Worker: Worker{own: "w"}, conn: w.conn}
					s := &workerSweep{announcement: w.about}
					if err := sender.sendParts(t.Context(), s, remote.Digest(data), data); err != nil {
						t.Error(err)
					}
					report()
					until(t, "it is taken", func() bool {
						_, err := store.GetInfo(t.Context(), remote.Digest(data))
						return err != nil
					})
				}
				report()
				m.DoubleAck(t.Context())
				w.leave()
				p.worker(Worker{Name: "last"}, j)
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing+len(o.Failed) > 0 || c.Status().Quarantined > 0 {
				t.Fatalf("%v, %+v, %v, %q", err, o, c.Status(), p.notices.texts())
			}
			p.same(want)
		})
	}
}
