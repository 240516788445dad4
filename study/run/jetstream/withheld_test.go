package jetstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"weir/study/experiment"
)

// TestCoordinator_RequeuesWithheldRuns has a worker take all runs, or the check of one, have the server keep them back
// for a hundred years, and leave: they are queued again, and the sweep ends.
func TestCoordinator_RequeuesWithheldRuns(t *testing.T) {
	s := sweepOf(t, 6)
	want := here(t, s)
	for _, begins := range []bool{false, true} {
		runBubble(t, fmt.Sprintf("runs, begun %v", begins), func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				w := newPuppet(p, j, "thief")
				time.Sleep(time.Second) // all runs are in the queue then
				for range 6 {
					x, m := w.take()
					if !begins {
						w.say("begun", begun{Worker: "thief", Run: x.Run, Back: true})
					}
					nakWithDelay(m, 100*365*24*time.Hour)
				}
				w.leave()
				p.worker(Worker{Name: "honest"}, j)
			})
			p.finish(s, want, 6)
		})
	}
	runBubble(t, "a check", func(t *testing.T) {
		p := newParty(t)
		p.config.draw = func() bool { return false }
		p.guests(func(j *Join) {
			w := newPuppet(p, j, "thief")
			p.worker(Worker{Name: "honest"}, j)
			var m *lease
			until(t, "there is a check", func() bool {
				for _, class := range w.about.Classes {
					if m == nil {
						m, _ = pullMessage(t.Context(), w.conn, w.about.Sweep.runStream(), queueName("check", class))
					}
				}
				return m != nil
			})
			nakWithDelay(m, 100*365*24*time.Hour)
			w.leave()
			p.worker(Worker{Name: "another"}, j)
		})
		p.finish(s, want, 0)
	})
}

// finish runs an experiment, and checks that its results are complete and that a number of runs were queued again.
func (p *party) finish(s *experiment.Spec, want map[string]string, again int) {
	p.t.Helper()
	o, _, err := p.execute(p.t.Context(), s)
	if err != nil || o.Missing+len(o.Failed) > 0 {
		p.t.Fatalf("%v, %+v, %q", err, o, p.notices.texts())
	}
	p.same(want)
	if n := p.notices.count("is queued again, because"); n != again {
		p.t.Errorf("%d runs were queued again, want %d: %q", n, again, p.notices.texts())
	}
}

// TestFloodOfSubscriptions checks that the server limits the subscriptions of a worker's connection, and ends a
// connection that exceeds the limit.
func TestFloodOfSubscriptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 2)
		want := here(t, s)
		p := newParty(t)
		p.guests(func(j *Join) {
			w := newPuppet(p, j, "evil")
			for i := range maxSubscriptions + 10 {
				w.conn.Subscribe(fmt.Sprintf("%s.%d", workerInbox, i), func(*nats.Msg) {})
			}
			w.conn.Flush()
			if err := w.conn.LastError(); err == nil {
				t.Error("a connection has any number of subscriptions")
			}
			w.conn.Close()
			p.worker(Worker{Name: "honest"}, j)
		})
		p.finish(s, want, 0)
	})
}
