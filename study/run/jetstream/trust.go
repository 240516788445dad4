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
	checkInterval = 50  // one in so many runs of a worker is computed again by another
	maxLosses     = 5   // lost workers that a run may have; one more fails the run
	maxErrors     = 3   // reported errors that fail a run
	maxShown      = 500 // notices in a status
)

// held is a result of a worker that is not trusted yet.
type held struct {
	task  *task
	data  []byte
	first bool // the worker's first result at the run's point
}

// issueLocked passes a notice to OnNotice in another goroutine and notes it in the journal. With OnNotice, the status
// keeps the first maxShown notices. The caller must hold the lock.
func (c *Coordinator) issueLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.journal.note(remote.JournalEntry{Event: remote.Reported, Text: text})
	if c.OnNotice != nil {
		if len(c.status.Events) < maxShown {
			c.status.Events = append(c.status.Events, text)
		}
		go c.OnNotice(text)
	}
}

// receiveBegun handles a worker's message that it has taken or returned a run. If another worker had begun the run and
// has been silent for half the patience, it counts as lost. A run that lost more than maxLosses workers fails.
func (c *Coordinator) receiveBegun(msg *nats.Msg) {
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
		if time.Since(before.heard) > c.patience/2 || before.gone { // the worker was lost with the run
			t.lost = append(t.lost, before.name)
			c.status.Lost++
			c.journal.note(remote.JournalEntry{Event: remote.Lost, Worker: before.id})
			c.issueLocked("%s was lost with %s; the run is repeated", before.name, nameOf(t))
		}
	}
	t.began = append(t.began[:0], m)
	if len(t.lost) > maxLosses {
		c.endTask(t, outcome{err: fmt.Errorf("%d workers were lost during this run: %s",
			len(t.lost), strings.Join(t.lost, ", "))})
		go c.queues.purgeRun(t)
	}
}

// purgeRun removes a run's queued message from the stream after the run has ended several workers. It ignores errors.
func (q *queues) purgeRun(t *task) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
	defer cancel()
	q.purgeSubject(ctx, q.sweep.runSubject(t.class, t.ID, t.suffix()))
}

// receiveProgress handles a worker's message on the progress of a run. Shares outside 0 to 1, and the progress of
// checks, are ignored.
func (c *Coordinator) receiveProgress(msg *nats.Msg) {
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
	if m != nil && t != nil && !b.Check && b.Share >= 0 && b.Share <= 1 && t.onProgress != nil {
		t.onProgress(b.Hops, b.Share)
	}
}

// fitsHere reports whether the coordinator has the memory to execute a run itself. Memory 0 is no limit.
func (c *Config) fitsHere(t *task) bool {
	return c.Memory == 0 || plan.EstimateMemory(t.Run) <= c.Memory
}

// publishAgain publishes a run with another subject, in the background, so that the stream accepts it although an
// earlier message is queued. The caller must hold the lock.
func (c *Coordinator) publishAgain(t *task) {
	t.tries++
	suffix := t.suffix()
	c.background.startFunction(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
		defer cancel()
		if c.queues.publish(ctx, c.sweep.runSubject(t.class, t.ID, suffix), job{Run: t.ID, Hops: t.Hops}) == nil {
			c.conn.Publish(c.sweep.subject("wake"), nil)
		} // otherwise reconcile publishes it
	})
}

// keepResult ends a task with a trusted worker's result and notes the worker in the journal. A task that is over stays
// as it is: its ExecuteRun has returned without a result. The caller must hold the lock.
func (c *Coordinator) keepResult(m *member, t *task, data []byte) {
	if t.over {
		return
	}
	c.journal.noteMade(t.ID, m.id)
	c.endTask(t, outcome{data: data})
}

// isFirst reports whether a run is the worker's first of its point, and notes the point.
func (m *member) isFirst(t *task) bool {
	if m.points == nil {
		m.points = map[int]bool{}
	}
	first := !m.points[t.Run.Index]
	m.points[t.Run.Index] = true
	return first
}

// isChecked reports whether a trusted worker's result is checked: by chance, and with VerifyAll also its first at a
// point. With first, it is the worker's first at its point.
func (c *Config) isChecked(first bool) bool {
	return c.draw() || first && c.VerifyMode == VerifyAll
}

// VerifyResults waits for all checks. It returns, sorted, and clears the ids of runs to withdraw: runs of workers that
// were put in quarantine since the last call. If ctx ends, it returns the ids so far. The error is always nil.
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

// nameOf returns a name of a run for notices: its point and seed.
func nameOf(t *task) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(t.Run.Point), t.Run.Seed)
}
