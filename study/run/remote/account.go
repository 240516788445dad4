package remote

import (
	"slices"

	"weir/study/results"
)

// EventKind is the kind of event that a JournalEntry adds to an execution's account.
type EventKind string

// The events, with the fields of the entry that they use.
const (
	Began     EventKind = "began"    // Of: the new execution
	Ended     EventKind = "ended"    // Interrupted, Of
	Joined    EventKind = "joined"   // Who: a worker, or its new description of itself
	Erred     EventKind = "erred"    // Worker reported an error
	Compared  EventKind = "compared" // Worker computed another worker's run again
	Checked   EventKind = "checked"  // two results were equal
	Judged    EventKind = "judged"   // the coordinator computed a run itself
	Lost      EventKind = "lost"     // Worker was lost with a run
	Duplicate EventKind = "twice"    // a result arrived again
	GaveUp    EventKind = "gave up"  // Run failed with the error Text
	Waiting   EventKind = "waits"    // all runs wait, because of Text
	Resumed   EventKind = "goes on"  // the waiting has ended
	Reported  EventKind = "told"     // Text was shown to the user
)

const (
	maxEvents  = 500 // events of an account; further ones are counted
	maxFailed  = 500 // failed runs that an account lists
	maxReasons = 4   // reasons for one period of waiting
)

// accounts are the executions of a journal, in order.
type accounts []results.Execution

// current returns the last execution, or nil.
func (a accounts) current() *results.Execution {
	if len(a) == 0 {
		return nil
	}
	return &a[len(a)-1]
}

// addEntry applies a journal entry to the accounts: the last execution, or all for a worker with wrong results. An
// entry before the first execution is ignored. Texts and failed runs above the limits are dropped.
func (a *accounts) addEntry(x *JournalEntry) {
	if x.Event == Began && x.Of != nil {
		*a = append(*a, *x.Of)
		return
	}
	e := a.current()
	if e == nil {
		return // a journal of a version that wrote no accounts
	}
	switch {
	case x.Made != "":
		findWorker(e, x.Worker).Runs++
		e.Runs++
	case x.Bad:
		a.discardRuns(x)
	case x.Event == Joined && x.Member != nil:
		w := findWorker(e, x.Member.ID)
		w.Name, w.Host, w.Revision, w.Jobs = x.Member.Name, x.Member.Host, x.Member.Revision, x.Member.Jobs
		w.Reconnections, w.Refused = x.Member.Reconnections, x.Member.Refused
	case x.Event == Ended:
		if e.Ended, e.Interrupted = x.At, x.Interrupted; x.Of != nil {
			e.Runs, e.Lost, e.Workers, e.Failed = x.Of.Runs, x.Of.Lost, x.Of.Workers, x.Of.Failed
		}
	case x.Event == Reported && len(e.Events) < maxEvents:
		e.Events = append(e.Events, results.TimedNotice{At: x.At, Text: x.Text})
	case x.Event == Reported:
		e.FurtherEvents++
	case x.Event == GaveUp && len(e.Failed) < maxFailed:
		e.Failed = append(e.Failed, results.FailedRun{Run: x.Run, Error: x.Text})
	case x.Event == Waiting || x.Event == Resumed:
		addWait(e, x)
	default:
		addCount(e, x)
	}
}

// findWorker returns the worker with the given ID of an execution, and adds it with its ID as name if it is new. The
// pointer is valid until the next addition.
func findWorker(e *results.Execution, id string) *results.Worker {
	i := slices.IndexFunc(e.Workers, func(w results.Worker) bool { return w.ID == id })
	if i < 0 {
		i = len(e.Workers)
		e.Workers = append(e.Workers, results.Worker{ID: id, Name: id})
	}
	return &e.Workers[i]
}

// addCount applies an entry that only increases a counter.
func addCount(e *results.Execution, x *JournalEntry) {
	switch x.Event {
	case Erred:
		findWorker(e, x.Worker).Errors++
	case Compared:
		findWorker(e, x.Worker).Compared++
	case Checked:
		e.Checked++
	case Judged:
		e.Settled++
	case Lost:
		findWorker(e, x.Worker).Lost++
		e.Lost++
	case Duplicate:
		e.Twice++
	}
}

// discardRuns removes the runs of entry x's worker from all executions, and notes the reason in the current one.
func (a accounts) discardRuns(x *JournalEntry) {
	for i := range a {
		e := &a[i]
		for k := range e.Workers {
			if w := &e.Workers[k]; w.ID == x.Worker {
				w.Discarded, e.Runs, w.Runs = w.Discarded+w.Runs, e.Runs-w.Runs, 0
			}
		}
	}
	w := findWorker(a.current(), x.Worker)
	w.SetAside, w.Discarded = x.Text, w.Discarded+x.Held
}

// addWait notes the begin, a further reason, or the end of a period in which all runs wait. A period has up to
// maxReasons different reasons.
func addWait(e *results.Execution, x *JournalEntry) {
	n := len(e.Waits) - 1
	open := n >= 0 && e.Waits[n].To.IsZero()
	switch {
	case x.Event == Resumed && open:
		e.Waits[n].To = x.At
	case x.Event == Waiting && !open:
		e.Waits = append(e.Waits, results.IdlePeriod{From: x.At, Why: []string{x.Text}})
	case x.Event == Waiting && len(e.Waits[n].Why) < maxReasons && !slices.Contains(e.Waits[n].Why, x.Text):
		e.Waits[n].Why = append(e.Waits[n].Why, x.Text)
	}
}

// withoutIdle returns a copy of the accounts without the workers that have only an ID and a name: they did not take
// part.
func (a accounts) withoutIdle() []results.Execution {
	all := slices.Clone(a)
	for i := range all {
		all[i].Workers = slices.DeleteFunc(slices.Clone(all[i].Workers), func(w results.Worker) bool {
			return w == results.Worker{ID: w.ID, Name: w.Name}
		})
	}
	return all
}
