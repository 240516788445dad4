package jetstream

import (
	"testing"
	"time"

	"weir/study/results"
)

// altered returns a change that adds one event to a run's result.
func altered(t *testing.T) func([]byte) []byte {
	return func(data []byte) []byte {
		r, err := results.ReadRun(data)
		if err != nil {
			t.Error(err)
		}
		r.Events++
		return r.EncodeJSON(true)
	}
}

// TestTwoNames checks that a worker cannot confirm its own results under a second name: two unknown workers are
// also compared with the coordinator.
func TestTwoNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 20)
		want := here(t, s)
		p := newParty(t)
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "one", change: altered(t)}, j)
			p.worker(Worker{Name: "two", change: altered(t)}, j)
			until(t, "both to be found", func() bool {
				return p.notices.has("one is excluded") && p.notices.has("two is excluded")
			})
			p.worker(Worker{Name: "honest"}, j)
		})
		o, _, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		p.same(want)
	})
}

// TestCoordinator_IgnoresStrangers checks that the coordinator ignores reports from a worker that has not
// identified its program, and from one with another program that was refused.
func TestCoordinator_IgnoresStrangers(t *testing.T) {
	s := sweepOf(t, 6)
	want := here(t, s)
	for _, name := range []string{"silent", "refused"} {
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				w := newPuppet(p, j, "first") // which is known, and gives one of another's name
				w.hello.Worker, w.hello.Name = name, name
				if name == "refused" {
					w.hello.Revision.Arch = "m68k"
					w.greet()
				}
				got, m := w.take()
				w.say("done."+got.Run, done{Worker: name, Name: name, Run: got.Run, Error: "a mistake of the run's"})
				m.DoubleAck(t.Context())
				w.conn.Flush()
				w.hello.Worker, w.hello.Bye = "first", true
				w.greet()
				w.conn.Close()
				p.worker(Worker{Name: "honest"}, j)
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing+len(o.Failed) > 0 {
				t.Fatalf("%v, %+v", err, o)
			}
			p.same(want)
			for _, k := range c.tasks {
				for _, e := range k.errors {
					if e.worker.id == name {
						t.Errorf("%s was heard: %s", name, e.text)
					}
				}
			}
		})
	}
}

// TestLongRun checks that a run that takes longer than the coordinator's patience is not given to other workers,
// because its worker reports that it continues.
func TestLongRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newParty(t)
		slow := func(data []byte) []byte {
			time.Sleep(2 * p.config.patience)
			return data
		}
		p.guests(func(j *Join) { p.worker(Worker{Name: "slow", Jobs: 2, change: slow}, j) })
		o, c, err := p.execute(t.Context(), sweepOf(t, 2))
		if status := c.Status(); err != nil || len(o.Runs) != 2 || status.Done != 2 || status.Duplicates > 0 {
			t.Errorf("%v, %+v", err, status)
		}
	})
}

// TestDrawCheck_ChecksOneRunInFifty checks that one run in fifty is repeated for a comparison.
func TestDrawCheck_ChecksOneRunInFifty(t *testing.T) {
	numbers, checked := 0, 0
	next := func(n int) int { numbers++; return numbers % n }
	for range 5000 {
		if drawCheck(next) {
			checked++
		}
	}
	if checked != 100 {
		t.Errorf("%d of 5000 are checked, want 100", checked)
	}
}
