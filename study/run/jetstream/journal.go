package jetstream

import (
	"path/filepath"

	"github.com/nats-io/nuid"

	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// journal adds to a remote.Journal what a coordinator that is started again needs: the sweep's name and, because a
// worker may be found to be wrong later, which worker made each result.
type journal struct {
	*remote.Journal
	sweep   sweep
	trace   string            // what is traced in it
	before  sweep             // which traced something else, and is over; "": there is none
	by      map[string]string // worker by run
	trusted map[string]bool   // by worker
	greeted map[string]bool   // workers that are the same program, and said hello before this execution
	bad     map[string]bool
}

// journalFile is the journal's name in the folder of the queue.
const journalFile = "journal"

// openJournal opens the journal of a file, or starts one. Where other ports were traced before, the runs give something
// else: the sweep is another.
func openJournal(name, traced string) (j *journal, err error) {
	j = &journal{by: map[string]string{}, trusted: map[string]bool{}, bad: map[string]bool{}}
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

// traced returns which traces runs leave; "" if they leave none.
func traced(w *run.Work) string {
	if len(w.Trace) == 0 {
		return ""
	}
	return string(encode(w.Trace)) + string(encode(w.Tracing))
}

// replay takes an entry.
func (j *journal) replay(e *remote.JournalEntry) {
	switch {
	case e.Sweep != "":
		j.sweep, j.trace = sweep(e.Sweep), e.Trace
	case e.Made != "":
		j.by[e.Made] = e.Worker
	case e.Bad:
		j.bad[e.Worker] = true
	case e.Trusted:
		j.trusted[e.Worker] = true
	}
}

// note adds an entry to the account of the current execution; a nil journal has none.
func (j *journal) note(e remote.JournalEntry) {
	if j != nil {
		j.Note(e)
	}
}

func (j *journal) made(id, worker string) { j.Write(remote.JournalEntry{Made: id, Worker: worker}) }

func (j *journal) trust(worker string) { j.Write(remote.JournalEntry{Worker: worker, Trusted: true}) }

// noteQuarantine writes that a worker is in quarantine, the reason, and the number of its results that are held.
func (j *journal) noteQuarantine(worker, why string, held int) {
	j.Write(remote.JournalEntry{Worker: worker, Bad: true, Text: results.Brief(why), Held: held, At: results.Now()})
}

// ReadAccounts returns the accounts in the journal of a results folder: of executions that go on, or were killed.
func ReadAccounts(dir string) []results.Execution {
	return remote.ReadAccounts(filepath.Join(queueFolder(dir), journalFile))
}
