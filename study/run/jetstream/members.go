package jetstream

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/revision"
	"weir/study/results"
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
	points   map[int]bool // of which it has made a run
}

// member is the worker of that id. The lock is held.
func (c *Coordinator) member(id, name string) *member {
	m := c.members[id]
	if m == nil {
		m = &member{id: id, name: name, trusted: id == c.own || c.journal.trusted[id], heard: time.Now(),
			known: id == c.own || c.journal.knows(id)}
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
	defer c.unfit()
	c.journal.join(m, &h, ok, why)
	if !ok && !m.refused {
		m.refused = true
		c.say("%s is refused: it has %s", m.name, why)
	}
	if h.Unable != "" && !m.refused {
		m.refused = true
		c.say("%s takes no part: %s", m.name, h.Unable)
	}
	m.known = m.known || ok && h.Unable == ""
	if m.bad != "" {
		why = "its results were wrong"
	}
	c.lock.Unlock()
	if msg.Reply != "" {
		msg.Respond(encode(welcome{Why: why}))
	}
}

// stranger reports whether nothing of a worker is taken: it has not said which program it is, or is another. The lock
// is held.
func (m *member) stranger() bool { return m.refused || !m.known }

// knows reports whether a worker has said hello before, to a coordinator that was killed since.
func (j *journal) knows(id string) bool {
	for i := range j.telling.all {
		if slices.ContainsFunc(j.telling.all[i].Workers, func(w results.Worker) bool {
			return w.ID == id && w.Revision != "" && w.Refused == ""
		}) {
			return true
		}
	}
	return false
}
