package jetstream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/study/run"
	"weir/study/run/remote"
)

// done receives what a worker has of a run. The report stays in its stream until the coordinator has dealt with it: no
// acknowledgement removes it, which somebody else could send.
func (c *Coordinator) done(msg jetstream.Msg) {
	id := strings.TrimPrefix(msg.Subject(), c.sweep.subject("done."))
	c.lock.Lock()
	t := c.tasks[id]
	c.lock.Unlock()
	var d done
	isReport := t != nil && decode(msg.Data(), &d) && d.Run == id // of an execution before, or of no worker's
	c.hands <- struct{}{}
	if !c.background.startFunction(func() {
		defer func() { <-c.hands }()
		for isReport && !c.handleResult(&d) {
			select {
			case <-c.verifier.judges.Done():
				return
			case <-time.After(time.Second):
			}
		}
		c.queues.removeReport(msg)
		if isReport {
			c.queues.dropResult(&d)
		}
	}) {
		<-c.hands // the coordinator has ended: it comes again for the one that goes on with the sweep
	}
}

// handleResult verifies and stores a result. It returns false if the result has to be handled again later.
func (c *Coordinator) handleResult(d *done) bool {
	c.lock.Lock()
	m, t := c.knownMember(d.Worker, d.Name), c.tasks[d.Run]
	switch {
	case t == nil:
		c.lock.Unlock()
		return true // of an execution before
	case m == nil: // it has not said hello; reconcile has the run made, if it took it
		c.lock.Unlock()
		return true
	}
	m.heard = time.Now()
	believed := m.bad == ""
	c.lock.Unlock()
	d.Error = truncate(d.Error, longestError)
	var data []byte
	var wrong error
	if d.Error == "" && believed {
		var err error
		switch data, wrong, err = c.queues.fetchResult(d); {
		case errors.Is(err, errGone):
			d.Error = err.Error()
		case err != nil:
			return false
		case wrong == nil:
			_, _, wrong = run.Received(data, t.Run, t.ID, c.ports[t.Run.Index], &c.work.Tracing)
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	t.began = slices.DeleteFunc(t.began, func(x *member) bool { return x == m })
	switch {
	case m.bad != "" || m.isUntrusted(): // reconcile has a run made again: it could be published without end here
		if d.Check {
			c.verifier.requeue(t, true)
		}
	case wrong != nil:
		c.verifier.quarantine(m, fmt.Sprintf("of %s it gave what it cannot be: %v", nameOf(t), wrong))
		c.verifier.requeue(t, d.Check)
	case d.Check:
		c.verifier.compare(t, m, d, data)
	case d.Error != "":
		c.reported(t, m, d)
	default:
		c.verifier.made(t, m, d.Digest, data)
	}
	return true
}

// reported notes an error of a run. The last one is the run's, if the coordinator has it too: a worker may not be
// honest about that either. The lock is held.
func (c *Coordinator) reported(t *task, m *member, d *done) {
	if t.over || t.by != nil {
		return
	}
	if d.Limit && slices.ContainsFunc(t.errors, func(r complaint) bool { return r.of == m && r.limit }) &&
		c.members.hasOther(t.class, t.limited()...) {
		c.later(t) // it has said so, and others may have more
		return
	}
	t.errors = append(t.errors, complaint{m, d.Error, d.Limit})
	c.journal.note(remote.JournalEntry{Event: remote.Erred, Worker: m.id})
	if d.Limit && c.members.hasOther(t.class, t.limited()...) {
		c.again(t)
		return
	}
	if len(t.errors) < mostErrors {
		c.again(t)
		return
	}
	if len(t.errors) > mostErrors { // it is being judged
		return
	}
	if !c.fitsHere(t) || slices.ContainsFunc(t.errors, func(r complaint) bool { return r.limit || r.of.id == c.own }) {
		c.give(t, outcome{err: errors.New(d.Error)})
		return
	}
	c.background.startFunction(func() {
		data, err := c.verifier.makeRun(t)
		c.lock.Lock()
		defer c.lock.Unlock()
		switch {
		case c.verifier.judges.Err() != nil || t.over:
		case err != nil:
			c.give(t, outcome{err: err})
		default:
			for _, r := range t.errors {
				c.verifier.quarantine(r.of, fmt.Sprintf("it reported an error of %s, which has none: %s", nameOf(t),
					firstLine(r.text)))
			}
			t.by, t.digest = c.member(c.own, "this process"), remote.Digest(data)
			c.give(t, outcome{data: data})
		}
	})
}

// complaint is what a worker says to be wrong with a run.
type complaint struct {
	of    *member
	text  string
	limit bool // it is the worker's limit
}

// limited are the workers that have reported limits of theirs.
func (t *task) limited() (all []*member) {
	for _, r := range t.errors {
		if r.limit {
			all = append(all, r.of)
		}
	}
	return all
}

// later publishes a run again when other workers have had time to become free. The lock is held.
func (c *Coordinator) later(t *task) {
	c.background.startFunction(func() {
		select {
		case <-c.verifier.judges.Done():
			return
		case <-time.After(time.Second):
		}
		c.lock.Lock()
		defer c.lock.Unlock()
		if !t.over && t.by == nil {
			c.again(t)
		}
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
