package jetstream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/remote"
)

// verifier has results of workers computed again, compares them, and puts workers with wrong results in quarantine.
// The coordinator's lock protects it.
type verifier struct {
	c         *Coordinator
	checks    map[string]*check // checks in progress, by run
	settled   *sync.Cond        // signaled when a check ends
	judges    context.Context   // context of runs that the coordinator executes
	withdrawn []string          // runs of workers in quarantine
}

// check is a second computation of a run by another worker.
type check struct {
	task    *task
	maker   *member
	digest  string // digest of the worker's result
	judging bool   // the coordinator computes the run itself
	waits   bool   // no worker can compute it, and a notice was issued
	unable  []*member

	holder   *member   // worker that has begun the check
	withheld time.Time // since when no queue and no responsive worker has it; zero: one has it
}

// listExcluded returns the workers that must not take the check: the one to be checked and those that could not compute
// the run.
func (k *check) listExcluded() []*member { return append(slices.Clone(k.unable), k.maker) }

// makeRun executes a run in this process, with one thread. It returns the same bytes as a worker.
func (v *verifier) makeRun(t *task) ([]byte, error) {
	return run.SimulateTraced(v.judges, t.Run, v.c.ports[t.Run.Index], &v.c.work.Tracing, v.c.work.Executable, 1, nil)
}

// startCheck starts a check of worker m's result. With VerifyAll and enough memory the coordinator computes it, since
// two workers may agree on a wrong result; else another worker does. The caller must hold the lock.
func (v *verifier) startCheck(t *task, m *member) {
	k := &check{task: t, maker: m, digest: t.digest}
	v.checks[t.ID] = k
	if v.c.VerifyMode == VerifyAll && v.c.fitsHere(t) {
		v.judgeRun(t, map[*member]string{m: t.digest})
		return
	}
	v.recheck(k)
}

// recheck publishes a check, or has the coordinator compute it if no worker can. If the coordinator lacks the memory,
// the check waits for a worker, after a notice. The caller must hold the lock.
func (v *verifier) recheck(k *check) {
	if !v.c.members.hasOther(k.task.class, k.listExcluded()...) {
		if !v.c.fitsHere(k.task) {
			if !k.waits {
				k.waits = true
				v.c.issueLocked("%s was executed by %s, and no other worker has the %.0f MB of memory to repeat it for "+
					"comparison; it waits for such a worker", nameOf(k.task), k.maker.name, plan.EstimateMemory(k.task.Run)/1e6)
			}
			return
		}
		v.judgeRun(k.task, map[*member]string{k.maker: k.digest})
		return
	}
	j := k.newJob()
	v.c.background.startFunction(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
		defer cancel()
		if v.c.queues.publish(ctx, v.c.sweep.checkSubject(k.task.class, k.task.ID), j) == nil {
			v.c.conn.Publish(v.c.sweep.subject("wake"), []byte(wakeChecks))
		}
	})
}

// newJob returns the message of a check. The caller must hold the lock.
func (k *check) newJob() job {
	j := job{Run: k.task.ID, Hops: k.task.Hops, Check: true}
	for _, m := range k.listExcluded() {
		j.Not = append(j.Not, hashID(m.id))
	}
	return j
}

// compareResult compares a second result of a run with the first. If they agree but neither worker is trusted, both may
// be the same process, and the coordinator computes the run itself. The caller must hold the lock.
func (v *verifier) compareResult(t *task, m *member, d *done, data []byte) {
	k := v.checks[t.ID]
	if k == nil || k.judging {
		return
	}
	v.c.journal.note(remote.JournalEntry{Event: remote.Compared, Worker: m.id})
	switch {
	case m == k.maker:
		v.recheck(k)
	case d.Error != "": // a repetition would fail too: the worker may have a limit that the other does not have
		k.unable = append(k.unable, m)
		v.recheck(k)
	case d.Digest == k.digest && (m.trusted || k.maker.trusted || !v.c.fitsHere(t)):
		v.passCheck(k)
	default:
		v.judgeRun(t, map[*member]string{k.maker: k.digest, m: d.Digest})
	}
}

// passCheck ends a check with a correct result. It trusts the worker from then on and keeps its held results. The lock
// is held.
func (v *verifier) passCheck(k *check) {
	delete(v.checks, k.task.ID)
	v.c.status.Checked++
	v.c.journal.note(remote.JournalEntry{Event: remote.Checked})
	m := k.maker
	if m.bad == "" && !m.trusted {
		m.trusted = true
		v.c.journal.noteTrust(m.id)
		all := m.held
		m.held = nil
		for _, h := range all {
			v.c.keepResult(m, h.task, h.data)
			if h.task != k.task && v.c.isChecked(h.first) {
				v.startCheck(h.task, m)
			}
		}
	}
	v.settled.Broadcast()
}

// judgeRun computes a run in this process, in the background, and puts the workers with another result in quarantine.
// The map gave holds the digests of their results. If the run fails here, all of them are wrong. It creates the run's
// check if the run has no check yet. The caller must hold the lock.
func (v *verifier) judgeRun(t *task, gave map[*member]string) {
	k := v.checks[t.ID]
	if k == nil {
		k = &check{task: t, maker: t.maker, digest: t.digest}
		v.checks[t.ID] = k
	}
	if k.judging {
		return
	}
	k.judging = true
	v.c.background.startFunction(func() {
		data, err := v.makeRun(t)
		v.c.lock.Lock()
		defer v.c.lock.Unlock()
		if v.judges.Err() != nil {
			return
		}
		v.c.journal.note(remote.JournalEntry{Event: remote.Judged})
		right := remote.Digest(data)
		for m, digest := range gave {
			if err != nil || digest != right {
				v.quarantine(m, fmt.Sprintf("its result of %s differs from the result of the run", nameOf(t)))
			}
		}
		if k.maker.bad == "" {
			v.passCheck(k)
		} else {
			delete(v.checks, t.ID)
			v.settled.Broadcast()
		}
	})
}

// quarantine rejects all further results of a worker and has its earlier runs computed again, including results of
// earlier executions. The built-in worker is never put in quarantine. The caller must hold the lock.
func (v *verifier) quarantine(m *member, why string) {
	if m.bad != "" || m.id == v.c.ownID {
		return
	}
	m.bad = why
	v.c.conn.Publish(v.c.sweep.subject("wake"), []byte(m.id)) // so that it asks and is refused
	n := len(m.held)
	v.c.journal.noteQuarantine(m.id, why, n)
	for _, h := range m.held {
		h.task.maker = nil
		v.c.publishAgain(h.task)
	}
	m.held = nil
	for id, by := range v.c.journal.worker {
		if by == m.id {
			v.withdrawn = append(v.withdrawn, id)
			delete(v.c.journal.worker, id)
			delete(v.c.tasks, id)
			n++
		}
	}
	v.c.status.Quarantined++
	v.c.issueLocked("%s is excluded: %s; its %d results are repeated", m.name, why, n)
	for id, k := range v.checks {
		if k.maker == m && !k.judging {
			delete(v.checks, id)
		}
	}
	v.settled.Broadcast()
}

// requeue publishes a run, or with checked its check, for another worker after a rejected result. The caller must hold
// the lock.
func (v *verifier) requeue(t *task, checked bool) {
	if k := v.checks[t.ID]; checked {
		if k != nil {
			v.recheck(k)
		}
	} else if !t.over && t.maker == nil {
		v.c.publishAgain(t)
	}
}

// takeResult accepts the first result of a run. It holds the result until the worker is trusted, and may start a check.
// A second result is a duplicate; it is judged if it differs. The caller must hold the lock.
func (v *verifier) takeResult(t *task, m *member, digest string, data []byte) {
	if t.maker != nil { // a worker that counted as lost has made it, too
		if t.digest != digest {
			v.judgeRun(t, map[*member]string{t.maker: t.digest, m: digest})
		}
		v.c.status.Duplicates++
		v.c.journal.note(remote.JournalEntry{Event: remote.Duplicate})
		return
	}
	if t.over {
		return
	}
	t.maker, t.digest = m, digest
	m.done++
	first := m.isFirst(t)
	switch {
	case m.id == v.c.ownID:
		v.c.keepResult(m, t, data)
	case m.trusted:
		v.c.keepResult(m, t, data)
		if v.c.isChecked(first) {
			v.startCheck(t, m)
		}
	default:
		m.held = append(m.held, held{t, data, first})
		if len(m.held) == 1 {
			v.startCheck(t, m)
		}
	}
}
