package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"weir/study/measure"
	"weir/study/plan"
	"weir/study/run/remote"
)

const (
	oneIn      = 50  // runs of a worker of which one is made again by another
	mostLosses = 5   // of workers that take a run; with one more it is the run that ends them
	mostErrors = 3   // that workers report of a run
	maxShown   = 500 // notices that a status has
)

// held is a result that waits for its worker to be trusted.
type held struct {
	t     *task
	data  []byte
	first bool // of its worker at the run's point
}

// say tells something while the lock is held.
func (c *Coordinator) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.journal.note(remote.JournalEntry{Event: remote.Reported, Text: text})
	if c.OnNotice != nil {
		if len(c.status.Events) < maxShown {
			c.status.Events = append(c.status.Events, text)
		}
		go c.OnNotice(text)
	}
}

// begun hears that a worker has taken a run.
func (c *Coordinator) begun(msg *nats.Msg) {
	var b begun
	if !decode(msg.Data, &b) {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	m, t := c.knownMember(b.Worker, b.Name), c.tasks[b.Run]
	if m == nil {
		return
	}
	m.heard = time.Now()
	if k := c.verifier.checks[b.Run]; k != nil && b.Check {
		k.holder = m
		if b.Back {
			k.holder = nil
		}
	}
	if t != nil && b.Back && !b.Check {
		t.began = slices.DeleteFunc(t.began, func(x *member) bool { return x == m })
	}
	if t == nil || t.over || b.Check || b.Back || slices.Contains(t.began, m) {
		return
	}
	for _, before := range t.began {
		if time.Since(before.heard) > c.patience/2 || before.gone { // it did not come back with it
			t.lost = append(t.lost, before.name)
			c.status.Lost++
			c.journal.note(remote.JournalEntry{Event: remote.Lost, Worker: before.id})
			c.say("%s was lost with %s: it is made again", before.name, nameOf(t))
		}
	}
	t.began = append(t.began[:0], m)
	if len(t.lost) > mostLosses {
		c.give(t, outcome{err: fmt.Errorf("%d workers were lost with it: %s", len(t.lost), strings.Join(t.lost, ", "))})
		go c.queues.takeRun(t)
	}
}

// takeRun takes a run out of the queue, for it ends those who carry it out.
func (q *queues) takeRun(t *task) {
	ctx, cancel := context.WithTimeout(context.Background(), answer(2))
	defer cancel()
	q.purgeSubject(ctx, q.sweep.run(t.class, t.ID, t.suffix()))
}

// far hears how far a run is.
func (c *Coordinator) far(msg *nats.Msg) {
	var b begun
	if !decode(msg.Data, &b) {
		return
	}
	c.lock.Lock()
	m, t := c.knownMember(b.Worker, b.Name), c.tasks[b.Run]
	if m != nil {
		m.heard = time.Now()
	}
	c.lock.Unlock()
	if m != nil && t != nil && !b.Check && b.Share >= 0 && b.Share <= 1 && t.far != nil {
		t.far(b.Hops, b.Share)
	}
}

// fitsHere reports whether the coordinator has the memory to make a run itself.
func (c *Config) fitsHere(t *task) bool {
	return c.Memory == 0 || plan.EstimateMemory(t.Run) <= c.Memory
}

// again publishes a run again. The lock is held.
func (c *Coordinator) again(t *task) {
	t.tries++
	suffix := t.suffix()
	c.background.startFunction(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		if c.queues.publish(ctx, c.sweep.run(t.class, t.ID, suffix), job{Run: t.ID, Hops: t.Hops}) == nil {
			c.conn.Publish(c.sweep.subject("wake"), nil)
		} // else reconcile does
	})
}

// keep gives a result of a worker that is trusted. Nobody waits for it any more if the sweep was interrupted: then it
// is made again, and is no run of this execution. The lock is held.
func (c *Coordinator) keep(m *member, t *task, data []byte) {
	if t.over {
		return
	}
	c.journal.made(t.ID, m.id)
	c.give(t, outcome{data: data})
}

// isFirst reports whether a run is the first of its point that this worker has made, and notes that it has.
func (m *member) isFirst(t *task) bool {
	if m.points == nil {
		m.points = map[int]bool{}
	}
	first := !m.points[t.Run.Index]
	m.points[t.Run.Index] = true
	return first
}

// isChecked reports whether a result of a worker that is trusted is made again, the first of a point or another.
func (c *Config) isChecked(first bool) bool {
	return c.draw() || first && c.Verify == VerifyAll
}

// VerifyResults waits for checks, and returns the runs of workers that were found out since they were given.
func (c *Coordinator) VerifyResults(ctx context.Context) ([]string, error) {
	stop := context.AfterFunc(ctx, func() { c.lock.Lock(); c.verifier.settled.Broadcast(); c.lock.Unlock() })
	defer stop()
	c.lock.Lock()
	defer c.lock.Unlock()
	for len(c.verifier.checks) > 0 && ctx.Err() == nil {
		c.verifier.settled.Wait()
	}
	ids := c.verifier.withdrawn
	c.verifier.withdrawn = nil
	slices.Sort(ids)
	return ids, nil
}

// name of a run for people.
func nameOf(t *task) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(t.Run.Point), t.Run.Seed)
}
