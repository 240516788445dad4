package jetstream

import (
	"testing"
	"time"

	"weir/study/results"
)

// altered is a run that has one event more than there were.
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

// Who joins by two names cannot vouch for himself: two workers of whom nothing is known are compared with the
// coordinator, too.
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

// Nothing is taken of who has not said which program it is, nor of another program, which may be polite or not.
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

// A run that takes longer than the coordinator's patience is not given to others, for its worker says that it goes on.
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

// TestDrawCheck_ChecksOneRunInFifty: one run in fifty is made again to be compared.
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
