package jetstream

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"weir/study/results"
	"weir/study/run"
)

// What entries of the journal say that only accounts are made of.
const (
	beganHere  = "began"    // an execution: Of
	endedHere  = "ended"    // Of.Interrupted
	joined     = "joined"   // a worker has said hello: Who
	erred      = "erred"    // Worker reported an error
	compared   = "compared" // Worker made a run of another's
	checked    = "checked"  // two results were alike
	judged     = "judged"   // the coordinator made the run itself
	lostRun    = "lost"     // Worker did not come back with a run
	cameTwice  = "twice"
	gaveUp     = "gave up" // Run, Text
	waits      = "waits"   // Text
	goesOn     = "goes on"
	toldPeople = "told" // Text
)

const (
	mostTold    = 500 // events of an account
	mostFailed  = 500 // failed runs that it lists
	mostReasons = 4   // of a time in which nothing went on
)

// telling is what has happened in the executions of a sweep: it is made of the journal's entries, in their order.
type telling struct{ all []results.Execution }

// now is the execution that goes on, or went on last; nil: none.
func (t *telling) now() *results.Execution {
	if len(t.all) == 0 {
		return nil
	}
	return &t.all[len(t.all)-1]
}

// worker is one of the execution's.
func worker(e *results.Execution, id string) *results.Worker {
	i := slices.IndexFunc(e.Workers, func(w results.Worker) bool { return w.ID == id })
	if i < 0 {
		i = len(e.Workers)
		e.Workers = append(e.Workers, results.Worker{ID: id, Name: id})
	}
	return &e.Workers[i]
}

// hear adds an entry.
func (t *telling) hear(x *entry) {
	if x.Event == beganHere && x.Of != nil {
		t.all = append(t.all, *x.Of)
		return
	}
	e := t.now()
	if e == nil {
		return // a journal of a version that kept no accounts
	}
	switch {
	case x.Made != "":
		worker(e, x.Worker).Runs++
		e.Runs++
	case x.Bad:
		t.setAside(x)
	case x.Event == joined && x.Who != nil:
		w := worker(e, x.Who.ID)
		w.Name, w.Host, w.Revision, w.Jobs = x.Who.Name, x.Who.Host, x.Who.Revision, x.Who.Jobs
		w.Broken, w.Refused = x.Who.Broken, x.Who.Refused
	case x.Event == endedHere:
		e.Ended, e.Interrupted = x.At, x.Interrupted
	case x.Event == toldPeople && len(e.Events) < mostTold:
		e.Events = append(e.Events, results.Event{At: x.At, Text: x.Text})
	case x.Event == toldPeople:
		e.Further++
	case x.Event == gaveUp && len(e.Failed) < mostFailed:
		e.Failed = append(e.Failed, results.FailedRun{Run: x.Run, Error: x.Text})
	case x.Event == waits || x.Event == goesOn:
		wait(e, x)
	default:
		count(e, x)
	}
}

// count adds an entry that is one more of something.
func count(e *results.Execution, x *entry) {
	switch x.Event {
	case erred:
		worker(e, x.Worker).Errors++
	case compared:
		worker(e, x.Worker).Compared++
	case checked:
		e.Checked++
	case judged:
		e.Judged++
	case lostRun:
		worker(e, x.Worker).Lost++
		e.Lost++
	case cameTwice:
		e.Twice++
	}
}

// setAside takes away all that a worker has made, also before.
func (t *telling) setAside(x *entry) {
	for i := range t.all {
		e := &t.all[i]
		for k := range e.Workers {
			if w := &e.Workers[k]; w.ID == x.Worker {
				w.Anew, e.Runs, w.Runs = w.Anew+w.Runs, e.Runs-w.Runs, 0
			}
		}
	}
	w := worker(t.now(), x.Worker)
	w.SetAside, w.Anew = x.Text, w.Anew+x.Held
}

// wait notes that nothing goes on, and why, or that it does again.
func wait(e *results.Execution, x *entry) {
	n := len(e.Waits) - 1
	open := n >= 0 && e.Waits[n].To.IsZero()
	switch {
	case x.Event == goesOn && open:
		e.Waits[n].To = x.At
	case x.Event == waits && !open:
		e.Waits = append(e.Waits, results.Wait{From: x.At, Why: []string{x.Text}})
	case x.Event == waits && len(e.Waits[n].Why) < mostReasons && !slices.Contains(e.Waits[n].Why, x.Text):
		e.Waits[n].Why = append(e.Waits[n].Why, x.Text)
	}
}

// note adds an entry that accounts are made of; after the end of the execution no more. The lock of the coordinator is
// held.
func (j *journal) note(e entry) {
	if j == nil {
		return
	}
	now := j.telling.now()
	if now == nil || !now.Ended.IsZero() {
		return
	}
	e.At, e.Text = run.Now(), results.Brief(e.Text)
	j.write(e)
}

// begin adds an execution.
func (j *journal) begin(place string) {
	of := run.NewAccount(results.ByWorkers)
	of.Place = withoutSecrets(place)
	j.write(entry{Event: beganHere, Of: &of})
}

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
	e := j.telling.now()
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
	j.note(entry{Event: joined, Who: &who})
}

// watched has the account say when the connection to the server breaks.
func (c *Coordinator) watched() []nats.Option {
	tell := func(text string) {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.journal.note(entry{Event: toldPeople, Text: text})
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
			c.beside(c.reconcile)
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
		return Told(dir)
	}
	j.note(entry{Event: endedHere, Interrupted: interrupted})
	return j.telling.told()
}

// Told says what has happened by the journal of a results folder: of executions that go on, or were killed.
func Told(dir string) []results.Execution {
	data, err := os.ReadFile(filepath.Join(queueFolder(dir), "journal"))
	if err != nil {
		return nil
	}
	j, _, err := readJournal(data)
	if err != nil {
		return nil
	}
	return j.telling.told()
}

// told is without those who were there before, and of whom an execution has nothing.
func (t *telling) told() []results.Execution {
	all := slices.Clone(t.all)
	for i := range all {
		all[i].Workers = slices.DeleteFunc(slices.Clone(all[i].Workers), idle)
	}
	return all
}

// idle is a worker that was there before, and of which an execution has nothing but the name.
func idle(w results.Worker) bool { return w == results.Worker{ID: w.ID, Name: w.Name} }
