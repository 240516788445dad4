package jetstream

import (
	"strings"

	"github.com/nats-io/nats.go"

	"weir/study/results"
	"weir/study/run/remote"
)

// withoutSecrets are addresses without the names and passwords that they may have.
func withoutSecrets(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, a := range all {
		if before, after, has := strings.Cut(a, "@"); has {
			scheme, _, _ := strings.Cut(before, "://")
			if all[i] = after; scheme != before {
				all[i] = scheme + "://" + after
			}
		}
	}
	return results.Brief(strings.Join(all, ","))
}

// join notes what a worker says of itself, unless it has said that, and why it takes no part if it is another program.
func (j *journal) join(m *member, h *hello, same bool, why string) {
	refused := h.Unable
	if !same {
		refused = "it has " + why
	}
	e := j.Current()
	if e == nil {
		return
	}
	who := results.Worker{ID: m.id, Name: results.Brief(m.name), Host: results.Brief(h.Host),
		Revision: results.Brief(h.Revision.String()), Jobs: h.Jobs, Broken: h.Broken, Refused: results.Brief(refused)}
	isKnown := false
	for _, w := range e.Workers {
		if w.ID == who.ID && w.Name == who.Name && w.Host == who.Host && w.Revision == who.Revision &&
			w.Jobs == who.Jobs && w.Broken == who.Broken && w.Refused == who.Refused {
			return
		}
		isKnown = isKnown || w.ID == who.ID
	}
	if !isKnown && len(e.Workers) >= mostMembers+mostRefused {
		return
	}
	j.note(remote.JournalEntry{Event: remote.Joined, Who: &who})
}

// watched has the account say when the connection to the server breaks.
func (c *Coordinator) watched() []nats.Option {
	tell := func(text string) {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.journal.note(remote.JournalEntry{Event: remote.Reported, Text: text})
	}
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			text := "the connection to the server broke"
			if err != nil {
				text += ": " + err.Error()
			}
			tell(text)
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			tell("the server is reached again")
			c.stale.Store(true)
			c.background.startFunction(c.reconcile)
		}),
	}
}

// Account says what has happened, in this execution and in those before of the same sweep: also in one that was killed,
// as far as its journal has it.
func (c *Coordinator) Account(dir string, interrupted bool) []results.Execution {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.interrupted = c.interrupted || interrupted
	j := c.journal
	if j == nil { // nothing had to be carried out
		return ReadAccounts(dir)
	}
	return j.End(nil, interrupted)
}
