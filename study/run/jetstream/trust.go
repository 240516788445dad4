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
	"weir/study/run"
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

// check is a run that is made again by somebody else.
type check struct {
	t       *task
	of      *member
	digest  string // of what it has made
	judging bool   // the coordinator makes it itself
	waits   bool   // nobody can make it, as was told
	unable  []*member

	holder   *member   // that has begun it
	withheld time.Time // since then no queue and no worker that is heard has it; zero: one has
}

// not are those who are not to make it: who has made the run, and who could not make it again.
func (k *check) not() []*member { return append(slices.Clone(k.unable), k.of) }

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
	if k := c.checks[b.Run]; k != nil && b.Check {
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
		go c.take(t)
	}
}

// take takes a run out of the queue, for it ends those who carry it out.
func (c *Coordinator) take(t *task) {
	ctx, cancel := context.WithTimeout(context.Background(), answer(2))
	defer cancel()
	c.purge(ctx, c.sweep.run(t.class, t.ID, t.suffix()))
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

// make makes a run here.
func (c *Coordinator) make(t *task) ([]byte, error) {
	return run.Traced(c.judges, t.Run, c.ports[t.Run.Index], &c.work.Tracing, c.work.Executable, 1, nil)
}

// fitsHere reports whether the coordinator has the memory to make a run itself.
func (c *Coordinator) fitsHere(t *task) bool {
	return c.Memory == 0 || plan.EstimateMemory(t.Run) <= c.Memory
}

// again publishes a run again. The lock is held.
func (c *Coordinator) again(t *task) {
	t.tries++
	suffix := t.suffix()
	c.beside(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		if c.publish(ctx, c.sweep.run(t.class, t.ID, suffix), job{Run: t.ID, Hops: t.Hops}) == nil {
			c.conn.Publish(c.sweep.subject("wake"), nil)
		} // else reconcile does
	})
}

// requeue assigns a run, or the check of one, to another worker, because its result was refused. The lock is held.
func (c *Coordinator) requeue(t *task, checked bool) {
	if k := c.checks[t.ID]; checked {
		if k != nil {
			c.recheck(k)
		}
	} else if !t.over && t.by == nil {
		c.again(t)
	}
}

// made takes a result. The lock is held.
func (c *Coordinator) made(t *task, m *member, digest string, data []byte) {
	if t.by != nil { // it was made twice: by a worker that was thought to be lost
		if t.digest != digest {
			c.judge(t, map[*member]string{t.by: t.digest, m: digest})
		}
		c.status.Twice++
		c.journal.note(remote.JournalEntry{Event: remote.Duplicate})
		return
	}
	if t.over {
		return
	}
	t.by, t.digest = m, digest
	m.done++
	first := m.isFirst(t)
	switch {
	case m.id == c.own:
		c.keep(m, t, data)
	case m.trusted:
		c.keep(m, t, data)
		if c.isChecked(first) {
			c.check(t, m)
		}
	default:
		m.held = append(m.held, held{t, data, first})
		if len(m.held) == 1 {
			c.check(t, m)
		}
	}
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
func (c *Coordinator) isChecked(first bool) bool {
	return c.draw() || first && c.Verify == VerifyAll
}

// check has a run made again: with VerifyAll by the coordinator if it has the memory, for two workers may agree on a
// lie; else by another worker. The lock is held.
func (c *Coordinator) check(t *task, m *member) {
	k := &check{t: t, of: m, digest: t.digest}
	c.checks[t.ID] = k
	if c.Verify == VerifyAll && c.fitsHere(t) {
		c.judge(t, map[*member]string{m: t.digest})
		return
	}
	c.recheck(k)
}

// recheck has a check published, or made by the coordinator if there is nobody else. The lock is held.
func (c *Coordinator) recheck(k *check) {
	if !c.others(k.t.class, k.not()...) {
		if !c.fitsHere(k.t) {
			if !k.waits {
				k.waits = true
				c.say("%s was made by %s, and nobody else has the %.0f MB of memory to make it again and compare: "+
					"it waits for a worker that does", nameOf(k.t), k.of.name, plan.EstimateMemory(k.t.Run)/1e6)
			}
			return
		}
		c.judge(k.t, map[*member]string{k.of: k.digest})
		return
	}
	j := k.job()
	c.beside(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		if c.publish(ctx, c.sweep.check(k.t.class, k.t.ID), j) == nil {
			c.conn.Publish(c.sweep.subject("wake"), []byte(wakeChecks))
		}
	})
}

// job is what is published of a check. The lock is held.
func (k *check) job() job {
	j := job{Run: k.t.ID, Hops: k.t.Hops, Check: true}
	for _, m := range k.not() {
		j.Not = append(j.Not, secretly(m.id))
	}
	return j
}

// others reports whether there is a worker that can make a run of that class again, but for some. The lock is held.
func (c *Coordinator) others(class int, but ...*member) bool {
	for _, m := range c.members {
		if !slices.Contains(but, m) && !m.gone && !m.refused && m.bad == "" && class <= m.largest() {
			return true
		}
	}
	return false
}

// compare holds what a worker has made against what another has. Two of whom nothing is known yet may be one: the
// coordinator makes the run itself then. The lock is held.
func (c *Coordinator) compare(t *task, m *member, d *done, data []byte) {
	k := c.checks[t.ID]
	if k == nil || k.judging {
		return
	}
	c.journal.note(remote.JournalEntry{Event: remote.Compared, Worker: m.id})
	switch {
	case m == k.of:
		c.recheck(k)
	case d.Error != "": // the next time would be the same: it may have a limit that the other has not
		k.unable = append(k.unable, m)
		c.recheck(k)
	case d.Digest == k.digest && (m.trusted || k.of.trusted || !c.fitsHere(t)):
		c.passed(k)
	default:
		c.judge(t, map[*member]string{k.of: k.digest, m: d.Digest})
	}
}

// passed ends a check that found a worker right. The lock is held.
func (c *Coordinator) passed(k *check) {
	delete(c.checks, k.t.ID)
	c.status.Checked++
	c.journal.note(remote.JournalEntry{Event: remote.Checked})
	m := k.of
	if m.bad == "" && !m.trusted {
		m.trusted = true
		c.journal.trust(m.id)
		all := m.held
		m.held = nil
		for _, h := range all {
			c.keep(m, h.t, h.data)
			if h.t != k.t && c.isChecked(h.first) {
				c.check(h.t, m)
			}
		}
	}
	c.settled.Broadcast()
}

// judge makes a run here, and sets those aside who have another result. The lock is held.
func (c *Coordinator) judge(t *task, gave map[*member]string) {
	k := c.checks[t.ID]
	if k == nil {
		k = &check{t: t, of: t.by, digest: t.digest}
		c.checks[t.ID] = k
	}
	if k.judging {
		return
	}
	k.judging = true
	c.beside(func() {
		data, err := c.make(t)
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.judges.Err() != nil {
			return
		}
		c.journal.note(remote.JournalEntry{Event: remote.Judged})
		right := remote.Digest(data)
		for m, digest := range gave {
			if err != nil || digest != right {
				c.quarantine(m, fmt.Sprintf("its result of %s is not what the run gives", nameOf(t)))
			}
		}
		if k.of.bad == "" {
			c.passed(k)
		} else {
			delete(c.checks, t.ID)
			c.settled.Broadcast()
		}
	})
}

// quarantine refuses further results of a worker, and requeues the runs that it has made. The lock is held.
func (c *Coordinator) quarantine(m *member, why string) {
	if m.bad != "" || m.id == c.own {
		return
	}
	m.bad = why
	c.conn.Publish(c.sweep.subject("wake"), []byte(m.id)) // so that it asks, and is refused
	n := len(m.held)
	c.journal.noteQuarantine(m.id, why, n)
	for _, h := range m.held {
		h.t.by = nil
		c.again(h.t)
	}
	m.held = nil
	for id, by := range c.journal.by {
		if by == m.id {
			c.withdrawn = append(c.withdrawn, id)
			delete(c.journal.by, id)
			delete(c.tasks, id)
			n++
		}
	}
	c.status.SetAside++
	c.say("%s is set aside: %s; its %d results are made anew", m.name, why, n)
	for id, k := range c.checks {
		if k.of == m && !k.judging {
			delete(c.checks, id)
		}
	}
	c.settled.Broadcast()
}

// VerifyResults waits for checks, and returns the runs of workers that were found out since they were given.
func (c *Coordinator) VerifyResults(ctx context.Context) ([]string, error) {
	stop := context.AfterFunc(ctx, func() { c.lock.Lock(); c.settled.Broadcast(); c.lock.Unlock() })
	defer stop()
	c.lock.Lock()
	defer c.lock.Unlock()
	for len(c.checks) > 0 && ctx.Err() == nil {
		c.settled.Wait()
	}
	ids := c.withdrawn
	c.withdrawn = nil
	slices.Sort(ids)
	return ids, nil
}

// name of a run for people.
func nameOf(t *task) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(t.Run.Point), t.Run.Seed)
}
