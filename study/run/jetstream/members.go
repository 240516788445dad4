package jetstream

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/revision"
)

// member is a worker as the coordinator knows it.
type member struct {
	id, name string
	memory   float64 // for a run; 0: no limit
	jobs     int
	heard    time.Time
	gone     bool         // it has said goodbye, or is not heard any more
	known    bool         // it has said hello, and is the same program
	refused  bool         // it is another program, or cannot carry out the experiment
	trusted  bool         // its first run was found right
	bad      string       // why nothing of it is taken; "": it is
	done     int          // runs
	held     []held       // what it has made and is not trusted with yet
	points   map[int]bool // it has made runs at these
	changes  int          // times that it has said hello
}

// member returns the worker of that id, and makes it if there is none. Only a worker's hello makes one, and what the
// coordinator has made itself. The lock is held.
func (c *Coordinator) member(id, name string) *member {
	m := c.members[id]
	if m == nil {
		m = &member{id: id, name: truncate(name, longestName), trusted: id == c.own || c.journal.trusted[id],
			heard: time.Now(), known: id == c.own || c.journal.knows(id)}
		if c.journal.bad[id] {
			m.bad = "it was set aside before"
		}
		c.members[id] = m
	}
	return m
}

// knownMember returns the worker of that id, or nil if it has never greeted this coordinator or the one before. The
// lock is held.
func (c *Coordinator) knownMember(id, name string) *member {
	if m := c.members[id]; m != nil {
		return m
	}
	if c.journal.knows(id) {
		return c.member(id, name)
	}
	return nil
}

// roster has the workers that have greeted the coordinator, by id. The coordinator's lock protects it.
type roster map[string]*member

// makeRoom reports whether there is room for one more worker. If there are too many, it removes the worker that was not
// heard for the longest time among those that were refused, or are gone and have made no run.
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
	if refused < mostRefused && len(all) < mostMembers {
		return true
	}
	if oldest == nil {
		return false
	}
	delete(all, oldest.id)
	return true
}

// hasOther reports whether a worker that is not in except can make a run of a class again.
func (all roster) hasOther(class int, except ...*member) bool {
	for _, m := range all {
		if !slices.Contains(except, m) && !m.gone && !m.refused && m.bad == "" && class <= m.largest() {
			return true
		}
	}
	return false
}

// refuse ignores what a worker does from now on, and issues a notice. The lock is held.
func (c *Coordinator) refuse(m *member, format, why string) {
	if m.refused {
		return
	}
	m.refused = true
	c.noticeWorker(format, m.name, why)
}

// greet receives a worker's hello.
func (c *Coordinator) greet(msg *nats.Msg) {
	var h hello
	if !decode(msg.Data, &h) || !isID(h.Worker) {
		return
	}
	h.Name, h.Host, h.Unable = truncate(h.Name, longestName),
		truncate(h.Host, longestHost), truncate(h.Unable, longestError)
	ok, why := revision.Same(h.Revision, c.Revision)
	why = truncate(why, longestError)
	c.lock.Lock()
	if c.knownMember(h.Worker, h.Name) == nil && !c.members.makeRoom() {
		c.lock.Unlock()
		c.respond(msg, welcome{Why: fmt.Sprintf("the sweep has %d workers, which is the limit", mostMembers)})
		return
	}
	m := c.member(h.Worker, h.Name)
	if m.gone && !h.Bye {
		c.noticeWorker("%s is back", m.name)
	}
	m.heard, m.memory, m.jobs, m.gone = time.Now(), h.Memory, h.Jobs, h.Bye
	defer c.unfit()
	if m.changes++; m.changes < mostChanges {
		c.journal.join(m, &h, ok, why)
	}
	if !ok {
		c.refuse(m, "%s is refused: it has %s", why)
	}
	if h.Unable != "" {
		c.refuse(m, "%s takes no part: %s", h.Unable)
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

// respond answers a message if its reply subject is one for answers to workers. A worker chooses that subject, and the
// coordinator may publish to subjects that a worker may not.
func (c *Config) respond(msg *nats.Msg, v any) {
	if strings.HasPrefix(msg.Reply, workerInbox+".") || c.Listen != "" && strings.HasPrefix(msg.Reply, ownReply) {
		msg.Respond(encode(v))
	}
}

// noticeWorker issues a notice of a worker, unless there are very many in a minute. The lock is held.
func (c *Coordinator) noticeWorker(format string, args ...any) {
	omitted, allowed := c.notices.admitNotice(time.Now())
	if omitted > 0 {
		c.say("%d further notices of workers", omitted)
	}
	if allowed {
		c.say(format, args...)
	}
}

// noticeLimit counts notices so that no minute has more than mostNoticed.
type noticeLimit struct {
	start          time.Time // of the minute
	count, omitted int       // in it
}

// admitNotice counts a notice and reports whether it may be issued. In the first notice of a minute omitted is the
// number of notices that were not issued in the minute before.
func (l *noticeLimit) admitNotice(now time.Time) (omitted int, allowed bool) {
	if now.Sub(l.start) > time.Minute {
		omitted = l.omitted
		*l = noticeLimit{start: now}
	}
	if l.count++; l.count > mostNoticed {
		l.omitted++
		return omitted, false
	}
	return omitted, true
}

// isUntrusted reports whether results of a worker are refused because it runs another program, or has not reported
// which. The lock is held.
func (m *member) isUntrusted() bool { return m.refused || !m.known }

// knows reports whether a worker has said hello before, to a coordinator that was killed since.
func (j *journal) knows(id string) bool { return j.greeted[id] }

// readGreeted notes the workers that have said hello in the executions that the journal has.
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
