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

// verifier has results of workers made again and compared, and sets workers aside whose results are wrong. The
// coordinator's lock protects it.
type verifier struct {
	c         *Coordinator
	checks    map[string]*check // in flight, by run
	settled   *sync.Cond        // signalled when a check ends
	judges    context.Context   // of runs that the coordinator makes itself
	withdrawn []string          // runs by workers that have been set aside
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

// makeRun makes a run here.
func (v *verifier) makeRun(t *task) ([]byte, error) {
	return run.Traced(v.judges, t.Run, v.c.ports[t.Run.Index], &v.c.work.Tracing, v.c.work.Executable, 1, nil)
}

// startCheck has a run made again: with VerifyAll by the coordinator if it has the memory, for two workers may agree on
// a lie; else by another worker. The lock is held.
func (v *verifier) startCheck(t *task, m *member) {
	k := &check{t: t, of: m, digest: t.digest}
	v.checks[t.ID] = k
	if v.c.Verify == VerifyAll && v.c.fitsHere(t) {
		v.judge(t, map[*member]string{m: t.digest})
		return
	}
	v.recheck(k)
}

// recheck has a check published, or made by the coordinator if there is nobody else. The lock is held.
func (v *verifier) recheck(k *check) {
	if !v.c.members.hasOther(k.t.class, k.not()...) {
		if !v.c.fitsHere(k.t) {
			if !k.waits {
				k.waits = true
				v.c.say("%s was made by %s, and nobody else has the %.0f MB of memory to make it again and compare: "+
					"it waits for a worker that does", nameOf(k.t), k.of.name, plan.EstimateMemory(k.t.Run)/1e6)
			}
			return
		}
		v.judge(k.t, map[*member]string{k.of: k.digest})
		return
	}
	j := k.job()
	v.c.background.startFunction(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		if v.c.queues.publish(ctx, v.c.sweep.check(k.t.class, k.t.ID), j) == nil {
			v.c.conn.Publish(v.c.sweep.subject("wake"), []byte(wakeChecks))
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

// compare holds what a worker has made against what another has. Two of whom nothing is known yet may be one: the
// coordinator makes the run itself then. The lock is held.
func (v *verifier) compare(t *task, m *member, d *done, data []byte) {
	k := v.checks[t.ID]
	if k == nil || k.judging {
		return
	}
	v.c.journal.note(remote.JournalEntry{Event: remote.Compared, Worker: m.id})
	switch {
	case m == k.of:
		v.recheck(k)
	case d.Error != "": // the next time would be the same: it may have a limit that the other has not
		k.unable = append(k.unable, m)
		v.recheck(k)
	case d.Digest == k.digest && (m.trusted || k.of.trusted || !v.c.fitsHere(t)):
		v.passed(k)
	default:
		v.judge(t, map[*member]string{k.of: k.digest, m: d.Digest})
	}
}

// passed ends a check that found a worker right. The lock is held.
func (v *verifier) passed(k *check) {
	delete(v.checks, k.t.ID)
	v.c.status.Checked++
	v.c.journal.note(remote.JournalEntry{Event: remote.Checked})
	m := k.of
	if m.bad == "" && !m.trusted {
		m.trusted = true
		v.c.journal.trust(m.id)
		all := m.held
		m.held = nil
		for _, h := range all {
			v.c.keep(m, h.t, h.data)
			if h.t != k.t && v.c.isChecked(h.first) {
				v.startCheck(h.t, m)
			}
		}
	}
	v.settled.Broadcast()
}

// judge makes a run here, and sets those aside who have another result. The lock is held.
func (v *verifier) judge(t *task, gave map[*member]string) {
	k := v.checks[t.ID]
	if k == nil {
		k = &check{t: t, of: t.by, digest: t.digest}
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
				v.quarantine(m, fmt.Sprintf("its result of %s is not what the run gives", nameOf(t)))
			}
		}
		if k.of.bad == "" {
			v.passed(k)
		} else {
			delete(v.checks, t.ID)
			v.settled.Broadcast()
		}
	})
}

// quarantine takes nothing more of a worker, and has all that it has made made again. The lock is held.
func (v *verifier) quarantine(m *member, why string) {
	if m.bad != "" || m.id == v.c.own {
		return
	}
	m.bad = why
	v.c.conn.Publish(v.c.sweep.subject("wake"), []byte(m.id)) // so that it asks, and is refused
	n := len(m.held)
	v.c.journal.noteQuarantine(m.id, why, n)
	for _, h := range m.held {
		h.t.by = nil
		v.c.again(h.t)
	}
	m.held = nil
	for id, by := range v.c.journal.by {
		if by == m.id {
			v.withdrawn = append(v.withdrawn, id)
			delete(v.c.journal.by, id)
			delete(v.c.tasks, id)
			n++
		}
	}
	v.c.status.SetAside++
	v.c.say("%s is set aside: %s; its %d results are made anew", m.name, why, n)
	for id, k := range v.checks {
		if k.of == m && !k.judging {
			delete(v.checks, id)
		}
	}
	v.settled.Broadcast()
}

// requeue has a run, or the check of one, made by somebody else than who gave what cannot be taken. The lock is held.
func (v *verifier) requeue(t *task, checked bool) {
	if k := v.checks[t.ID]; checked {
		if k != nil {
			v.recheck(k)
		}
	} else if !t.over && t.by == nil {
		v.c.again(t)
	}
}

// made takes a result. The lock is held.
func (v *verifier) made(t *task, m *member, digest string, data []byte) {
	if t.by != nil { // it was made twice: by a worker that was thought to be lost
		if t.digest != digest {
			v.judge(t, map[*member]string{t.by: t.digest, m: digest})
		}
		v.c.status.Twice++
		v.c.journal.note(remote.JournalEntry{Event: remote.Duplicate})
		return
	}
	if t.over {
		return
	}
	t.by, t.digest = m, digest
	m.done++
	first := m.isFirst(t)
	switch {
	case m.id == v.c.own:
		v.c.keep(m, t, data)
	case m.trusted:
		v.c.keep(m, t, data)
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
