package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/internal/atomicfile"
	"weir/study/results"
)

// Lock has this process hold a sweep's folder by a file of it. busy is the error if another process does.
func Lock(dir, file, busy string) (*atomicfile.File, error) {
	name := filepath.Join(dir, file)
	lock, err := atomicfile.Claim(name)
	if err == atomicfile.ErrTaken {
		return nil, fmt.Errorf("%s (%s)", busy, dir)
	}
	return lock, results.Unwritten(name, err)
}

// Journal is a file with a line for everything that happens to a sweep, from which the accounts of its executions are
// made. It is not safe for concurrent use. A nil Journal takes no entries.
type Journal struct {
	name     string
	file     *os.File
	size     int64  // of the file
	pending  []byte // lines that the file lacks because its disk was full
	accounts accounts
	replay   func(*JournalEntry)
}

// JournalEntry is a line of a journal. Text and names of people are shortened by Note.
type JournalEntry struct {
	Sweep   string `json:"sweep,omitempty"` // the name of the sweep, with what it traces
	Trace   string `json:"trace,omitempty"`
	Made    string `json:"made,omitempty"` // a run whose result is taken of Worker
	Worker  string `json:"worker,omitempty"`
	Trusted bool   `json:"trusted,omitempty"` // a check found Worker right
	Bad     bool   `json:"bad,omitempty"`     // the results of Worker are discarded
	Held    int    `json:"held,omitempty"`    // its results that were not taken yet

	Event       EventKind          `json:"event,omitempty"`
	At          time.Time          `json:"at,omitzero"`
	Run         string             `json:"run,omitempty"`
	Text        string             `json:"text,omitempty"`
	Of          *results.Execution `json:"of,omitempty"`
	Who         *results.Worker    `json:"who,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"`
}

// OpenJournal opens the journal of a file, or makes the file. It calls replay with each entry that the file has, and
// then with each new one; replay may be nil. A last line that was cut off is removed. Another damage is an error.
func OpenJournal(name string, replay func(*JournalEntry)) (*Journal, error) {
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	j := &Journal{name: name, replay: replay}
	if err := j.read(data); err != nil {
		return nil, fmt.Errorf("%s: it is damaged: remove the folder, and the runs that are there are kept", name)
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(j.size); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// ReadAccounts returns the accounts of a journal's executions, also of one that goes on or was killed. They are empty
// if the file cannot be read.
func ReadAccounts(name string) []results.Execution {
	data, err := os.ReadFile(name)
	var j Journal
	if err != nil || j.read(data) != nil {
		return nil
	}
	return j.accounts.withoutIdle()
}

// read adds the entries of the lines that are whole.
func (j *Journal) read(data []byte) error {
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		var e JournalEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		j.add(&e)
	}
	j.size = int64(len(whole))
	return nil
}

func (j *Journal) add(e *JournalEntry) {
	if j.replay != nil {
		j.replay(e)
	}
	j.accounts.add(e)
}

// Write adds a line, and those before it that could not be written. After a failure the next line begins where this one
// did, so that the file has no line that is cut off in the middle. What can never be written is missing only when a
// process that continues the sweep reads the journal.
func (j *Journal) Write(e JournalEntry) {
	j.add(&e)
	line, _ := json.Marshal(e) // of strings, numbers and times
	j.pending = append(append(j.pending, line...), '\n')
	if n, err := j.file.WriteAt(j.pending, j.size); err == nil {
		j.size, j.pending = j.size+int64(n), j.pending[:0]
	}
}

// Note adds an entry about the current execution, with the time. It has no effect outside of one.
func (j *Journal) Note(e JournalEntry) {
	if j == nil {
		return
	}
	if now := j.Current(); now == nil || !now.Ended.IsZero() {
		return
	}
	e.At, e.Text = results.Now(), results.Brief(e.Text)
	j.Write(e)
}

// Begin adds an execution. by is one of the constants of package results, place the server of workers.
func (j *Journal) Begin(by, place string) {
	of := results.NewExecution(by)
	of.Place = place
	j.Write(JournalEntry{Event: Began, Of: &of})
}

// End ends the current execution and returns all accounts. If of is not nil, its runs, workers and failures are those
// of the execution.
func (j *Journal) End(of *results.Execution, interrupted bool) []results.Execution {
	j.Note(JournalEntry{Event: Ended, Of: of, Interrupted: interrupted})
	return j.accounts.withoutIdle()
}

// Current returns the account of the execution that goes on or was the last one; nil if there is none.
func (j *Journal) Current() *results.Execution { return j.accounts.current() }

// Executions returns the accounts of all executions.
func (j *Journal) Executions() []results.Execution { return j.accounts }

// Close closes the file.
func (j *Journal) Close() { j.file.Close() }

// Remove closes the file and removes it.
func (j *Journal) Remove() {
	j.Close()
	os.Remove(j.name)
}
