package jetstream

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/revision"
)

// member is the coordinator's record of a worker.
type member struct {
	id, name string
	memory   float64 // bytes for one run; 0: no limit
	jobs     int
	heard    time.Time
	gone     bool         // it has left, or has not reported for long
	known    bool         // it has greeted, and runs the same program
	refused  bool         // it runs another program, or cannot load the experiment
	trusted  bool         // its first run was verified
	bad      string       // why its results are rejected; "": they are accepted
	done     int          // runs
	held     []held       // results that wait until it is trusted
	points   map[int]bool // points at which it has made runs
	changes  int          // number of its hellos
}

// member returns the worker with the given id and creates it if needed, with the trust and quarantine that the journal
// has. The name is used only for a new worker. Only a worker's hello and the coordinator's own results create one. The
// caller must hold the lock.
func (c *Coordinator) member(id, name string) *member {
	m := c.members[id]
	if m == nil {
		m = &member{id: id, name: truncate(name, maxNameBytes), trusted: id == c.ownID || c.journal.trusted[id],
			heard: time.Now(), known: id == c.ownID || c.journal.hasGreeted(id)}
		if c.journal.bad[id] {
			m.bad = "it was excluded earlier"
		}
		c.members[id] = m
	}
	return m
}

// knownMember returns the worker with the given id, or nil if it has never greeted this coordinator or its predecessor.
// It creates the record of one that greeted only the predecessor, with the given name. The caller must hold the lock.
func (c *Coordinator) knownMember(id, name string) *member {
	if m := c.members[id]; m != nil {
		return m
	}
	if c.journal.hasGreeted(id) {
		return c.member(id, name)
	}
	return nil
}

// roster holds the workers that have greeted the coordinator, by id. The coordinator's lock protects it.
type roster map[string]*member

// makeRoom reports whether the roster has room for one more worker. If it is full, it removes the worker that was
// silent longest among those that were refused, or are gone without a run. It returns false if there is no such worker.
// The caller must hold the lock.
func (all roster) makeRoom() bool {
	refused := 0
	var oldest *member
	for _, m := range all {
		if m.refused {
			refused++
		}
		if (m.refused || m.gone && m.done == 0 && len(m.held) == 0 && m.bad == "") &&
			(oldest == nil || m.heard.Before(oldest.heard)) {
			oldest = m
		}
	}
	if refused < maxRefused && len(all) < maxMembers {
		return true
	}
	if oldest == nil {
		return false
	}
	delete(all, oldest.id)
	return true
}

// hasOther reports whether a present worker outside except takes runs of a class. Refused workers and those in
// quarantine do not count. The caller must hold the lock.
func (all roster) hasOther(class int, except ...*member) bool {
	for _, m := range all {
		if !slices.Contains(except, m) && !m.gone && !m.refused && m.bad == "" && class <= m.maxClass() {
			return true
		}
	}
	return false
}

// refuse rejects all further messages of a worker and issues a notice. The format has the worker's name and why as
// arguments. A worker that was refused earlier gets no second notice. The caller must hold the lock.
func (c *Coordinator) refuse(m *member, format, why string) {
	if m.refused {
		return
	}
	m.refused = true
	c.noticeWorker(format, m.name, why)
}

// greet handles a worker's hello and responds with a welcome. It adds an unknown worker, and refuses one that runs
// another program or cannot load the experiment. It does not respond to an invalid message.
func (c *Coordinator) greet(msg *nats.Msg) {
	var h hello
	if !decode(msg.Data, &h) || !isID(h.Worker) {
		return
	}
	h.Name, h.Host, h.Unable = truncate(h.Name, maxNameBytes),
		truncate(h.Host, maxHostBytes), truncate(h.Unable, maxErrorBytes)
	ok, why := revision.Compare(h.Revision, c.Revision)
	why = truncate(why, maxErrorBytes)
	c.lock.Lock()
	if c.knownMember(h.Worker, h.Name) == nil && !c.members.makeRoom() {
		c.lock.Unlock()
		c.respond(msg, welcome{Why: fmt.Sprintf("the sweep already has the maximum of %d workers", maxMembers)})
		return
	}
	m := c.member(h.Worker, h.Name)
	if m.gone && !h.Bye {
		c.noticeWorker("%s is back", m.name)
	}
	m.heard, m.memory, m.jobs, m.gone = time.Now(), h.Memory, h.Jobs, h.Bye
	defer c.reportMisfits()
	if m.changes++; m.changes < maxChanges {
		c.journal.noteWorker(m, &h, ok, why)
	}
	if !ok {
		c.refuse(m, "%s is refused: it has %s", why)
	}
	if h.Unable != "" {
		c.refuse(m, "%s is refused: %s", h.Unable)
	}
	m.known = m.known || ok && h.Unable == ""
	if m.bad != "" {
		why = "its results were wrong"
	}
	c.lock.Unlock()
	c.respond(msg, welcome{Why: why})
}

// ownReply is the prefix of the reply subjects that a server makes for messages of another account.
const ownReply = "_R_."

// respond replies to a message if its reply subject is one for workers. A worker chooses that subject, and the
// coordinator may publish to subjects that are closed to workers.
func (c *Config) respond(msg *nats.Msg, v any) {
	if strings.HasPrefix(msg.Reply, workerInbox+".") || c.Listen != "" && strings.HasPrefix(msg.Reply, ownReply) {
		msg.Respond(encode(v))
	}
}

// noticeWorker issues a notice about a worker, up to maxNoticed per minute. The caller must hold the lock.
func (c *Coordinator) noticeWorker(format string, args ...any) {
	omitted, allowed := c.notices.admitNotice(time.Now())
	if omitted > 0 {
		c.issueLocked("%d more notices about workers", omitted)
	}
	if allowed {
		c.issueLocked(format, args...)
	}
}

// noticeLimit limits notices to maxNoticed per minute.
type noticeLimit struct {
	start          time.Time // start of the current minute
	count, omitted int       // notices in it
}

// admitNotice counts a notice and reports whether it may be issued. At the first notice of a minute, omitted is the
// number of notices dropped in the minute before.
func (l *noticeLimit) admitNotice(now time.Time) (omitted int, allowed bool) {
	if now.Sub(l.start) > time.Minute {
		omitted = l.omitted
		*l = noticeLimit{start: now}
	}
	if l.count++; l.count > maxNoticed {
		l.omitted++
		return omitted, false
	}
	return omitted, true
}

// isUntrusted reports whether the worker's results are rejected because it runs another program or has not reported its
// program. The caller must hold the lock.
func (m *member) isUntrusted() bool { return m.refused || !m.known }

// hasGreeted reports whether a worker greeted an earlier execution.
func (j *journal) hasGreeted(id string) bool { return j.greeted[id] }

// readGreeted loads the workers that greeted earlier executions from the journal.
func (j *journal) readGreeted() {
	j.greeted = map[string]bool{}
	for i := range j.Executions() {
		for _, w := range j.Executions()[i].Workers {
			if w.Revision != "" && w.Refused == "" {
				j.greeted[w.ID] = true
			}
		}
	}
}
