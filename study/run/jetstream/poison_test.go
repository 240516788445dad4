package jetstream

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/revision"
)

// puppet is a worker that does as a test says.
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

// greet says hello, or goodbye.
func (p *puppet) greet() {
	for range 60 {
		if _, err := p.conn.Request(p.about.Sweep.subject("hello"), encode(p.hello), time.Second); err == nil {
			return
		}
	}
	p.t.Error("nobody answers")
}

// take takes a run, and says so. It waits for one.
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

// nakWithDelay gives a message back, to be given to a worker after a while.
func nakWithDelay(m *lease, wait time.Duration) {
	m.conn.Publish(m.subject, fmt.Appendf(nil, `-NAK {"delay": %d}`, wait.Nanoseconds()))
}

// say publishes something of the sweep.
func (p *puppet) say(of string, v any) {
	p.conn.Publish(p.about.Sweep.subject(of), encode(v))
	p.conn.Flush()
}

// leave waits until the coordinator has dealt with everything that the worker has said, and says goodbye: the
// bubble's clock moves only when all wait.
func (p *puppet) leave() {
	time.Sleep(200 * time.Millisecond)
	p.hello.Bye = true
	p.greet()
	p.conn.Close()
}

// vanish is the end of a worker that has a run in hand: it is gone, and the queue gives the run to others.
func (p *puppet) vanish(m *lease) {
	p.hello.Bye = true
	p.greet()
	m.Nak()
	p.conn.Flush()
	p.conn.Close()
}

// Workers that are lost with a run are no failure of it, up to five; with the sixth it is the run that ends them.
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

// Workers that are ended and give their run back have not lost it, however many they are.
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

// A worker that reports its limit of one run twice, while others could have more, is not asked a third time at once.
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

// The third error of a run that workers report ends it, with that, if it is a limit of theirs; two are tried again, and
// forgotten when it is made. What the coordinator does not find itself is not believed.
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
