package jetstream

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/revision"
)

// puppet is a worker that a test controls.
type puppet struct {
	t     testing.TB
	conn  *nats.Conn
	about announcement
	hello hello
}

// newPuppet joins a sweep.
func newPuppet(of *party, j *Join, name string) *puppet {
	t := of.t
	conn, err := j.connect(name, append(of.config.options(), nats.CustomInboxPrefix(workerInbox))...)
	if err != nil {
		t.Fatal(err)
	}
	p := &puppet{t: t, conn: conn, hello: hello{Worker: name, Name: name, Revision: revision.This(), Jobs: 1}}
	heard, err := conn.SubscribeSync(announceSubject)
	if err != nil {
		t.Fatal(err)
	}
	for p.about.Sweep == "" || len(p.about.Classes) == 0 {
		conn.Publish(askSubject, nil)
		if m, err := heard.NextMsg(time.Second); err == nil {
			if a, _, ok := verifyAnnouncement(m.Data); ok {
				p.about = a
			}
		}
	}
	p.greet()
	return p
}

// greet announces the worker, or its departure.
func (p *puppet) greet() {
	for range 60 {
		if _, err := p.conn.Request(p.about.Sweep.subject("hello"), encode(p.hello), time.Second); err == nil {
			return
		}
	}
	p.t.Error("nobody answers")
}

// take waits for a run, takes it, and reports that.
func (p *puppet) take() (*job, *lease) {
	for range 600 {
		for _, class := range p.about.Classes {
			stream := p.about.Sweep.runStream()
			if m, data := pullMessage(context.Background(), p.conn, stream, queueName("run", class)); m != nil {
				var j job
				decode(data, &j)
				p.say("begun", begun{Worker: p.hello.Worker, Name: p.hello.Name, Run: j.Run, Check: j.Check})
				return &j, m
			}
		}
		time.Sleep(time.Second)
	}
	p.t.Fatal("there is no run")
	return nil, nil
}

// nakWithDelay returns a message to the queue, for redelivery after a delay.
func nakWithDelay(m *lease, wait time.Duration) {
	m.conn.Publish(m.subject, fmt.Appendf(nil, `-NAK {"delay": %d}`, wait.Nanoseconds()))
}

// say publishes a message of the sweep.
func (p *puppet) say(of string, v any) {
	p.conn.Publish(p.about.Sweep.subject(of), encode(v))
	p.conn.Flush()
}

// leave waits until the coordinator has handled all messages of the worker, and announces its departure. The
// bubble's clock advances only when all goroutines wait.
func (p *puppet) leave() {
	time.Sleep(200 * time.Millisecond)
	p.hello.Bye = true
	p.greet()
	p.conn.Close()
}

// vanish ends a worker that has taken a run: the worker is gone, and the queue redelivers the run.
func (p *puppet) vanish(m *lease) {
	p.hello.Bye = true
	p.greet()
	m.Nak()
	p.conn.Flush()
	p.conn.Close()
}

// TestCoordinator_FailsRunAtSixthLoss checks that a run does not fail if up to five workers are lost during it. At
// the sixth loss the run itself is the cause.
func TestCoordinator_FailsRunAtSixthLoss(t *testing.T) {
	s := sweepOf(t, 2)
	for _, losses := range []int{5, 6} {
		runBubble(t, fmt.Sprint(losses), func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				var run string
				for i := 0; i < losses; {
					w := newPuppet(p, j, fmt.Sprintf("lost%d", i))
					got, m := w.take()
					if run == "" {
						run = got.Run
					}
					if got.Run != run { // the other run is not this test's
						w.say("begun", begun{Worker: w.hello.Worker, Run: got.Run, Back: true})
						nakWithDelay(m, 300*time.Millisecond)
						w.conn.Flush()
						w.conn.Close()
						continue
					}
					w.vanish(m)
					i++
				}
				p.worker(Worker{Name: "last"}, j)
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing > 0 {
				t.Fatal(err, o.Missing)
			}
			if status := c.Status(); status.Lost != losses {
				t.Errorf("%+v", status)
			}
			if losses == 5 {
				if len(o.Failed) > 0 {
					t.Error(o.Failed)
				}
				return
			}
			if len(o.Failed) != 1 || o.Failed[0].Err.Error() !=
				"6 workers were lost during this run: lost0, lost1, lost2, lost3, lost4, lost5" {
				t.Error(o.Failed)
			}
		})
	}
}

// TestGivenBack checks that workers that end and return their run do not count as losses, for any number of them.
func TestGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 2)
		p := newParty(t)
		p.guests(func(j *Join) {
			for i := range 9 {
				w := newPuppet(p, j, fmt.Sprintf("w%d", i))
				got, m := w.take()
				w.say("begun", begun{Worker: w.hello.Worker, Run: got.Run, Back: true})
				w.vanish(m)
			}
			p.worker(Worker{Name: "last"}, j)
		})
		o, c, err := p.execute(t.Context(), s)
		if err != nil || len(o.Failed)+o.Missing > 0 || c.Status().Lost > 0 {
			t.Fatalf("%v, failed %v, %+v", err, o.Failed, c.Status())
		}
	})
}

// TestLimitReportedAgain checks that a worker that reports its limit for a run twice, while other workers may allow
// more, does not get it a third time at once.
func TestLimitReportedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newParty(t)
		p.guests(func(j *Join) {
			w, idle := newPuppet(p, j, "w"), newPuppet(p, j, "idle")
			var run string
			for n := 0; n < 2; {
				got, m := w.take()
				if run == "" {
					run = got.Run
				}
				if got.Run != run {
					nakWithDelay(m, 300*time.Millisecond)
					continue
				}
				n++
				publishReport(t.Context(), w.conn, w.about.Sweep,
					&done{Worker: "w", Name: "w", Run: run, Error: "too large", Limit: true})
				m.DoubleAck(t.Context())
			}
			time.Sleep(2 * time.Second) // it is published again
			for _, x := range []*puppet{w, idle} {
				x.leave()
			}
			p.worker(Worker{Name: "last"}, j)
		})
		o, c, err := p.execute(t.Context(), sweepOf(t, 2))
		if err != nil || o.Missing+len(o.Failed) > 0 || c.Status().Quarantined > 0 {
			t.Fatalf("%v, %+v, %v", err, o, c.Status())
		}
	})
}

// TestCoordinator_FailsRunAtThirdError checks that the third error that workers report fails a run, with this
// error, if it is a limit of theirs. After two errors the run is tried again, and the errors are discarded when it
// succeeds. An error that the coordinator cannot reproduce excludes the worker.
func TestCoordinator_FailsRunAtThirdError(t *testing.T) {
	s := sweepOf(t, 2)
	for name, x := range map[string]struct {
		errors, failed, aside int
		limit                 bool
	}{"two": {2, 0, 0, true}, "three": {3, 1, 0, true}, "three lies": {3, 0, 1, false}} {
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				w := newPuppet(p, j, "w")
				var run string
				for i := 0; i < x.errors; {
					got, m := w.take()
					if run == "" {
						run = got.Run
					}
					if got.Run != run {
						nakWithDelay(m, 300*time.Millisecond)
						continue
					}
					i++
					publishReport(t.Context(), w.conn, w.about.Sweep,
						&done{Worker: "w", Name: "w", Run: run, Error: fmt.Sprintf("error %d", i), Limit: x.limit})
					m.DoubleAck(t.Context())
				}
				w.leave()
				p.worker(Worker{Name: "last"}, j)
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing > 0 || len(o.Failed) != x.failed || c.Status().Quarantined != x.aside {
				t.Fatal(err, o.Missing, o.Failed, c.Status())
			}
			if x.failed > 0 && o.Failed[0].Err.Error() != "error 3" {
				t.Error(o.Failed[0].Err)
			}
		})
	}
}
