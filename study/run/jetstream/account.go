package jetstream

import (
	"strings"

	"github.com/nats-io/nats.go"

	"weir/study/results"
	"weir/study/run/remote"
)

// removeSecrets returns a comma-separated list of addresses without user names and passwords, shortened for an account.
func removeSecrets(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, a := range all {
		if before, after, has := strings.Cut(a, "@"); has {
			scheme, _, _ := strings.Cut(before, "://")
			if all[i] = after; scheme != before {
				all[i] = scheme + "://" + after
			}
		}
	}
	return results.ShortenText(strings.Join(all, ","))
}

// noteWorker notes a worker's hello in the journal unless it has the same entry already. If same is false, the worker
// runs another program, and why names the difference. Without a current execution, or for a new worker above the
// limits, it has no effect. The coordinator's lock is held.
func (j *journal) noteWorker(m *member, h *hello, same bool, why string) {
	refused := h.Unable
	if !same {
		refused = "it has " + why
	}
	e := j.Current()
	if e == nil {
		return
	}
	who := results.Worker{ID: m.id, Name: results.ShortenText(m.name), Host: results.ShortenText(h.Host),
		Revision: results.ShortenText(h.Revision.String()), Jobs: h.Jobs, Reconnections: h.Broken,
		Refused: results.ShortenText(refused)}
	isKnown := false
	for _, w := range e.Workers {
		if w.ID == who.ID && w.Name == who.Name && w.Host == who.Host && w.Revision == who.Revision &&
			w.Jobs == who.Jobs && w.Reconnections == who.Reconnections && w.Refused == who.Refused {
			return
		}
		isKnown = isKnown || w.ID == who.ID
	}
	if !isKnown && len(e.Workers) >= maxMembers+maxRefused {
		return
	}
	j.note(remote.JournalEntry{Event: remote.Joined, Member: &who})
}

// watchConnection returns connection options that note in the journal when the connection to the server breaks and when
// it is back. Then the coordinator opens its inbox again and reconciles the queue.
func (c *Coordinator) watchConnection() []nats.Option {
	tell := func(text string) {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.journal.note(remote.JournalEntry{Event: remote.Reported, Text: text})
	}
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			text := "the connection to the server was lost"
			if err != nil {
				text += ": " + err.Error()
			}
			tell(text)
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			tell("the connection to the server is restored")
			c.stale.Store(true)
			c.background.startFunction(c.reconcile)
		}),
	}
}

// ReportExecutions ends the account of this execution, and returns it with the accounts of all earlier executions of
// the sweep. Of a killed execution it has the part that its journal has. With interrupted, Close keeps the queue.
// Before Begin it returns the accounts in the results folder dir.
func (c *Coordinator) ReportExecutions(dir string, interrupted bool) []results.Execution {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.interrupted = c.interrupted || interrupted
	j := c.journal
	if j == nil { // no run was needed
		return ReadAccounts(dir)
	}
	return j.EndExecution(nil, interrupted)
}
