package jetstream

import (
	"path/filepath"

	"github.com/nats-io/nuid"

	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// journal extends a remote.Journal by the sweep's name and the worker of each result. A coordinator that is restarted
// needs both, since a worker's results may turn out to be wrong later.
type journal struct {
	*remote.Journal
	sweep   sweep
	trace   string            // ports and options traced in the sweep
	before  sweep             // earlier sweep with another trace, which is over; "": no such sweep
	worker  map[string]string // worker by run
	trusted map[string]bool   // by worker
	greeted map[string]bool   // workers of the same program that greeted an earlier execution
	bad     map[string]bool
}

// journalFile is the journal's name in the folder of the queue.
const journalFile = "journal"

// openJournal opens or creates the journal. The argument traced is a key of the traced ports and options. If it differs
// from the journal's, the results differ, too: the journal starts another sweep, and before is the earlier one.
func openJournal(name, traced string) (j *journal, err error) {
	j = &journal{worker: map[string]string{}, trusted: map[string]bool{}, bad: map[string]bool{}}
	if j.Journal, err = remote.OpenJournal(name, j.replay); err != nil {
		return nil, err
	}
	j.readGreeted()
	if j.sweep == "" || j.trace != traced {
		j.before = j.sweep
		j.Write(remote.JournalEntry{Sweep: nuid.Next(), Trace: traced})
	}
	return j, nil
}

// traced returns a key of the traces of the runs, or "" if they leave no traces.
func traced(w *run.Work) string {
	if len(w.Trace) == 0 {
		return ""
	}
	return string(encode(w.Trace)) + string(encode(w.Tracing))
}

// replay applies an entry of the journal, an existing or a new one, to the fields.
func (j *journal) replay(e *remote.JournalEntry) {
	switch {
	case e.Sweep != "":
		j.sweep, j.trace = sweep(e.Sweep), e.Trace
	case e.Made != "":
		j.worker[e.Made] = e.Worker
	case e.Bad:
		j.bad[e.Worker] = true
	case e.Trusted:
		j.trusted[e.Worker] = true
	}
}

// note adds an entry to the account of the current execution. A nil journal ignores it.
func (j *journal) note(e remote.JournalEntry) {
	if j != nil {
		j.NoteNow(e)
	}
}

// noteMade writes the entry that the result of run id was accepted from a worker.
func (j *journal) noteMade(id, worker string) { j.Write(remote.JournalEntry{Made: id, Worker: worker}) }

// noteTrust writes the entry that a worker is trusted, which later executions read.
func (j *journal) noteTrust(worker string) {
	j.Write(remote.JournalEntry{Worker: worker, Trusted: true})
}

// noteQuarantine writes the entry that a worker is in quarantine, with the current time and the reason why, shortened
// by results.ShortenText. held is the number of results withheld from the worker. Later executions refuse the worker,
// too. It reports no write failure (remote.Journal.Write). The journal must not be nil.
func (j *journal) noteQuarantine(worker, why string, held int) {
	j.Write(remote.JournalEntry{Worker: worker, Bad: true, Text: results.ShortenText(why), Held: held,
		At: results.AccountTime()})
}

// ReadAccounts returns the accounts in the journal of a results folder, of executions that are running or were
// killed.
func ReadAccounts(dir string) []results.Execution {
	return remote.ReadAccounts(filepath.Join(queueFolder(dir), journalFile))
}
