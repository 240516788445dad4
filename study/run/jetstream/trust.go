package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weir/internal/revision"
	"weir/study/measure"
	"weir/study/results"
	"weir/study/run"
)

const (
	oneIn      = 50 // runs of a worker of which one is made again by another
	mostLosses = 5  // of workers that take a run; with one more it is the run that ends them
	mostErrors = 3  // that workers report of a run
)

// member is a worker as the coordinator knows it.
type member struct {
	id, name string
	memory   float64 // for a run; 0: no limit
	jobs     int
	heard    time.Time
	gone     bool   // it has said goodbye, or is not heard any more
	refused  bool   // it is another program
	trusted  bool   // its first run was found right
	bad      string // why nothing of it is taken; "": it is
	done     int    // runs
	held     []held // what it has made and is not trusted with yet
}

// held is a result that waits for its worker to be trusted.
type held struct {
	t    *task
	data []byte
}

// check is a run that is made again by somebody else.
type check struct {
	t       *task
	of      *member
	digest  string // of what it has made
	judging bool   // the coordinator makes it itself
}

// member is the worker of that id. The lock is held.
func (c *Coordinator) member(id, name string) *member {
	m := c.members[id]
	if m == nil {
		m = &member{id: id, name: name, trusted: id == c.own || c.journal.trusted[id], heard: time.Now()}
		if c.journal.bad[id] {
			m.bad = "it was set aside before"
		}
		c.members[id] = m
	}
	return m
}

// greet hears a worker that says hello.
func (c *Coordinator) greet(msg *nats.Msg) {
	var h hello
	if !decode(msg.Data, &h) || h.Worker == "" {
		return
	}
	ok, why := revision.Same(h.Revision, c.Revision)
	c.lock.Lock()
	m := c.member(h.Worker, h.Name)
	if m.gone && !h.Bye {
		c.say("%s is back", m.name)
	}
	m.heard, m.memory, m.jobs, m.gone = time.Now(), h.Memory, h.Jobs, h.Bye
	if !ok && !m.refused {
		m.refused = true
		c.say("%s is refused: it has %s", m.name, why)
	}
	if m.bad != "" {
		why = "its results were wrong"
	}
	c.lock.Unlock()
	if msg.Reply != "" {
		msg.Respond(encode(welcome{Why: why}))
	}
}

// say tells something while the lock is held.
func (c *Coordinator) say(format string, args ...any) {
	if c.OnNotice != nil {
		text := fmt.Sprintf(format, args...)
		c.status.Events = append(c.status.Events, text)
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
	m, t := c.member(b.Worker, b.Name), c.tasks[b.Run]
	m.heard = time.Now()
	if t == nil || t.over || b.Check || slices.Contains(t.began, m) {
		return
	}
	for _, before := range t.began {
		if time.Since(before.heard) > c.patience/2 || before.gone { // it did not come back with it
			t.lost = append(t.lost, before.name)
			c.status.Lost++
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if s, err := c.js.Stream(ctx, c.sweep.runs()); err == nil {
		s.Purge(ctx, jetstream.WithPurgeSubject(c.sweep.run(t.class, t.ID, t.suffix())))
	}
}

// far hears how far a run is.
func (c *Coordinator) far(msg *nats.Msg) {
	var b begun
	if !decode(msg.Data, &b) {
		return
	}
	c.lock.Lock()
	m, t := c.member(b.Worker, b.Name), c.tasks[b.Run]
	m.heard = time.Now()
	c.lock.Unlock()
	if t != nil && !b.Check && b.Share >= 0 && b.Share <= 1 && t.far != nil {
		t.far(b.Hops, b.Share)
	}
}

// done hears what a worker has of a run.
func (c *Coordinator) done(msg jetstream.Msg) {
	var d done
	if !decode(msg.Data(), &d) {
		msg.Term()
		return
	}
	c.hands <- struct{}{}
	c.group.Go(func() {
		defer func() { <-c.hands }()
		if c.heed(&d) {
			msg.Ack()
		} else {
			msg.NakWithDelay(time.Second)
		}
	})
}

// fetch is a worker's result. Wrong says why it is none; an error, that it cannot be had now.
func (c *Coordinator) fetch(d *done) (data []byte, wrong, err error) {
	if data = d.Data; len(data) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		data, err = c.store.GetBytes(ctx, d.Digest)
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrDigestMismatch):
			return nil, errors.New("what it says to have made is not there"), nil
		case err != nil:
			return nil, nil, err
		}
		defer c.store.Delete(ctx, d.Digest)
	}
	if run.Digest(data) != d.Digest {
		return nil, errors.New("what it has made has another digest than it says"), nil
	}
	return data, nil, nil
}

// heed takes a result, and reports whether it is dealt with.
func (c *Coordinator) heed(d *done) bool {
	c.lock.Lock()
	m, t := c.member(d.Worker, d.Name), c.tasks[d.Run]
	m.heard = time.Now()
	c.lock.Unlock()
	if t == nil {
		return true // of an execution before, or of nobody's
	}
	var data []byte
	var wrong error
	if d.Error == "" && m.bad == "" {
		var err error
		if data, wrong, err = c.fetch(d); err != nil {
			return false
		}
		if wrong == nil {
			_, wrong = results.Vouched(data, t.Run, t.ID)
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.moved = time.Now()
	t.began = slices.DeleteFunc(t.began, func(x *member) bool { return x == m })
	switch {
	case m.bad != "":
		c.anew(t, d.Check)
	case wrong != nil:
		c.setAside(m, fmt.Sprintf("of %s it gave what it cannot be: %v", nameOf(t), wrong))
		c.anew(t, d.Check)
	case d.Check:
		c.compare(t, m, d, data)
	case d.Error != "":
		c.reported(t, m, d.Error)
	default:
		c.made(t, m, d.Digest, data)
	}
	return true
}

// reported notes an error of a run.
func (c *Coordinator) reported(t *task, m *member, text string) {
	if t.over {
		return
	}
	t.errors = append(t.errors, text)
	if len(t.errors) < mostErrors {
		c.again(t)
		return
	}
	c.give(t, outcome{err: errors.New(text)})
}

// again publishes a run anew. The lock is held.
func (c *Coordinator) again(t *task) {
	t.tries++
	suffix := t.suffix()
	c.group.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if c.publish(ctx, t, suffix, job{Run: t.ID, Hops: t.Hops}) == nil {
			c.conn.Publish(c.sweep.subject("wake"), nil)
		} // else reconcile does
	})
}

// anew has a run, or the check of one, made by somebody else than who gave what cannot be taken. The lock is held.
func (c *Coordinator) anew(t *task, checked bool) {
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
		return
	}
	if t.over {
		return
	}
	t.by, t.digest = m, digest
	m.done++
	switch {
	case m.id == c.own:
		c.give(t, outcome{data: data})
	case m.trusted:
		c.keep(m, t, data)
		if c.draw() {
			c.check(t, m)
		}
	default:
		m.held = append(m.held, held{t, data})
		if len(m.held) == 1 {
			c.check(t, m)
		}
	}
}

// keep gives a result of a worker that is trusted. The lock is held.
func (c *Coordinator) keep(m *member, t *task, data []byte) {
	c.journal.made(t.ID, m.id)
	c.give(t, outcome{data: data})
}

// check has a run made by another worker. The lock is held.
func (c *Coordinator) check(t *task, m *member) {
	k := &check{t: t, of: m, digest: t.digest}
	c.checks[t.ID] = k
	c.recheck(k)
}

// recheck has a check published, or made by the coordinator if there is nobody else. The lock is held.
func (c *Coordinator) recheck(k *check) {
	if !c.others(k.of) {
		c.judge(k.t, map[*member]string{k.of: k.digest})
		return
	}
	c.group.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if c.publishCheck(ctx, k) == nil {
			c.conn.Publish(c.sweep.subject("wake"), nil)
		}
	})
}

// publishCheck puts a check into the queue, unless it is there.
func (c *Coordinator) publishCheck(ctx context.Context, k *check) error {
	return c.publish(ctx, k.t, "-check", job{Run: k.t.ID, Hops: k.t.Hops, Check: true, Not: k.of.id})
}

// others reports whether there is a worker but for one that can make its runs again. The lock is held.
func (c *Coordinator) others(but *member) bool {
	for _, m := range c.members {
		if m != but && !m.gone && !m.refused && m.bad == "" {
			return true
		}
	}
	return false
}

// compare holds what a worker has made against what another has. The lock is held.
func (c *Coordinator) compare(t *task, m *member, d *done, data []byte) {
	k := c.checks[t.ID]
	if k == nil || k.judging {
		return
	}
	switch {
	case m == k.of || d.Error != "":
		c.recheck(k)
	case d.Digest == k.digest:
		c.passed(k)
	default:
		c.judge(t, map[*member]string{k.of: k.digest, m: d.Digest})
	}
}

// passed ends a check that found a worker right. The lock is held.
func (c *Coordinator) passed(k *check) {
	delete(c.checks, k.t.ID)
	c.status.Checked++
	m := k.of
	if m.bad == "" && !m.trusted {
		m.trusted = true
		c.journal.trust(m.id)
		all := m.held
		m.held = nil
		for _, h := range all {
			c.keep(m, h.t, h.data)
			if h.t != k.t && c.draw() {
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
	c.group.Go(func() {
		data, err := run.One(c.judges, t.Run, c.work.Executable, 1, nil)
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.judges.Err() != nil {
			return
		}
		right := run.Digest(data)
		for m, digest := range gave {
			if err != nil || digest != right {
				c.setAside(m, fmt.Sprintf("its result of %s is not what the run gives", nameOf(t)))
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

// setAside takes nothing more of a worker, and has all that it has made made again. The lock is held.
func (c *Coordinator) setAside(m *member, why string) {
	if m.bad != "" || m.id == c.own {
		return
	}
	m.bad = why
	c.conn.Publish(c.sweep.subject("wake"), []byte(m.id)) // so that it asks, and is refused
	c.journal.setAside(m.id)
	n := len(m.held)
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

// Settle waits for checks, and returns the runs of workers that were found out since they were given.
func (c *Coordinator) Settle(ctx context.Context) ([]string, error) {
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
