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

// receiveReport handles a worker's report of a run in the background, and first waits for one of the result slots. The
// report stays in its stream until the coordinator has handled it. Acknowledgments do not remove it, since any worker
// could send one.
func (c *Coordinator) receiveReport(msg jetstream.Msg) {
	id := strings.TrimPrefix(msg.Subject(), c.sweep.subject("done."))
	c.lock.Lock()
	t := c.tasks[id]
	c.lock.Unlock()
	var d done
	// false for an earlier execution, or for a subject that no worker uses
	isReport := t != nil && decode(msg.Data(), &d) && d.Run == id
	c.resultSlots <- struct{}{}
	if !c.background.startFunction(func() {
		defer func() { <-c.resultSlots }()
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
		<-c.resultSlots // the coordinator has ended: the report is delivered again to the next one
	}
}

// handleResult verifies and stores a worker's report of a run: a result, an error, or the result of a check. An invalid
// result puts the worker in quarantine. It returns false if the result is not available yet and has to be handled again
// later.
func (c *Coordinator) handleResult(d *done) bool {
	c.lock.Lock()
	m, t := c.knownMember(d.Worker, d.Name), c.tasks[d.Run]
	switch {
	case t == nil:
		c.lock.Unlock()
		return true // of an earlier execution
	case m == nil: // it has not greeted; reconcile publishes the run again if the worker took it
		c.lock.Unlock()
		return true
	}
	m.heard = time.Now()
	believed := m.bad == ""
	c.lock.Unlock()
	d.Error = truncate(d.Error, maxErrorBytes)
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
			_, _, wrong = run.DecodeResult(data, t.Run, t.ID, c.ports[t.Run.Index], &c.work.Tracing)
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	t.began = slices.DeleteFunc(t.began, func(x *member) bool { return x == m })
	switch {
	case m.bad != "" || m.isUntrusted(): // reconcile publishes the run again; doing so here could loop without end
		if d.Check {
			c.verifier.requeue(t, true)
		}
	case wrong != nil:
		c.verifier.quarantine(m, fmt.Sprintf("its result of %s is invalid: %v", nameOf(t), wrong))
		c.verifier.requeue(t, d.Check)
	case d.Check:
		c.verifier.compareResult(t, m, d, data)
	case d.Error != "":
		c.noteError(t, m, d)
	default:
		c.verifier.takeResult(t, m, d.Digest, data)
	}
	return true
}

// noteError notes a worker's error of a run and publishes the run again. Errors by a worker's limit do not count while
// other workers may have a higher one. After maxErrors errors, the coordinator runs it itself: its own error becomes
// the run's, and a success exposes the workers that reported one. A run that does not fit here fails with the worker's
// error. The caller must hold the lock.
func (c *Coordinator) noteError(t *task, m *member, d *done) {
	if t.over || t.maker != nil {
		return
	}
	if d.Limit && slices.ContainsFunc(t.errors, func(r complaint) bool { return r.worker == m && r.limit }) &&
		c.members.hasOther(t.class, t.listLimited()...) {
		c.publishLater(t) // it has reported its limit before, and others may have a higher one
		return
	}
	t.errors = append(t.errors, complaint{m, d.Error, d.Limit})
	c.journal.note(remote.JournalEntry{Event: remote.Erred, Worker: m.id})
	if d.Limit && c.members.hasOther(t.class, t.listLimited()...) {
		c.publishAgain(t)
		return
	}
	if len(t.errors) < maxErrors {
		c.publishAgain(t)
		return
	}
	if len(t.errors) > maxErrors { // the coordinator is running it
		return
	}
	isFinal := func(r complaint) bool { return r.limit || r.worker.id == c.ownID }
	if !c.fitsHere(t) || slices.ContainsFunc(t.errors, isFinal) {
		c.endTask(t, outcome{err: errors.New(d.Error)})
		return
	}
	c.background.startFunction(func() {
		data, err := c.verifier.makeRun(t)
		c.lock.Lock()
		defer c.lock.Unlock()
		switch {
		case c.verifier.judges.Err() != nil || t.over:
		case err != nil:
			c.endTask(t, outcome{err: err})
		default:
			for _, r := range t.errors {
				c.verifier.quarantine(r.worker, fmt.Sprintf("it reported an error of %s, but the run has none: %s", nameOf(t),
					firstLine(r.text)))
			}
			t.maker, t.digest = c.member(c.ownID, "this process"), remote.Digest(data)
			c.endTask(t, outcome{data: data})
		}
	})
}

// complaint is an error of a run that a worker reported.
type complaint struct {
	worker *member
	text   string
	limit  bool // the error is the worker's limit
}

// listLimited returns the workers that have exceeded their limits with this run.
func (t *task) listLimited() (all []*member) {
	for _, r := range t.errors {
		if r.limit {
			all = append(all, r.worker)
		}
	}
	return all
}

// publishLater publishes a run again after a second, in which other workers may become free, unless it then is over or
// has a worker. It does not wait. The caller must hold the lock.
func (c *Coordinator) publishLater(t *task) {
	c.background.startFunction(func() {
		select {
		case <-c.verifier.judges.Done():
			return
		case <-time.After(time.Second):
		}
		c.lock.Lock()
		defer c.lock.Unlock()
		if !t.over && t.maker == nil {
			c.publishAgain(t)
		}
	})
}

// firstLine returns the first line of a text.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
