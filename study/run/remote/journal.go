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

// LockFolder locks a sweep's folder for this process with a file in it. If another process has the lock, it returns an
// error with the text busy. The caller discards the returned lock.
func LockFolder(dir, file, busy string) (*atomicfile.File, error) {
	name := filepath.Join(dir, file)
	lock, err := atomicfile.Claim(name)
	if err == atomicfile.ErrTaken {
		return nil, fmt.Errorf("%s (%s)", busy, dir)
	}
	return lock, results.WrapWriteError(name, err)
}

// Journal is a file with a line for each event of a sweep. The accounts of the sweep's executions are computed from it.
// It is not safe for concurrent use. Only NoteNow accepts a nil Journal.
type Journal struct {
	name     string
	file     *os.File
	size     int64  // of the file
	pending  []byte // lines that are not written because the disk was full
	accounts accounts
	replay   func(*JournalEntry)
}

// JournalEntry is a line of a journal. NoteNow shortens its text and names.
type JournalEntry struct {
	Sweep   string `json:"sweep,omitempty"` // name of the sweep, with its trace
	Trace   string `json:"trace,omitempty"`
	Made    string `json:"made,omitempty"` // run with a result of Worker that was accepted
	Worker  string `json:"worker,omitempty"`
	Trusted bool   `json:"trusted,omitempty"` // a check verified a result of Worker
	Bad     bool   `json:"bad,omitempty"`     // the results of Worker are discarded
	Held    int    `json:"held,omitempty"`    // its results that were held

	Event       EventKind          `json:"event,omitempty"`
	At          time.Time          `json:"at,omitzero"`
	Run         string             `json:"run,omitempty"`
	Text        string             `json:"text,omitempty"`
	Of          *results.Execution `json:"of,omitempty"`
	Member      *results.Worker    `json:"who,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"`
}

// OpenJournal opens or creates a journal. It calls replay, unless it is nil, with each entry of the file and then
// with each new one. It removes a truncated last line. Any other damage is an error.
func OpenJournal(name string, replay func(*JournalEntry)) (*Journal, error) {
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	j := &Journal{name: name, replay: replay}
	if err := j.readEntries(data); err != nil {
		return nil, fmt.Errorf("%s: the file is damaged; remove its folder (finished runs are kept)", name)
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

// ReadAccounts returns the accounts of a journal's executions, including one that is running or was killed. It
// returns nil if the file cannot be read.
func ReadAccounts(name string) []results.Execution {
	data, err := os.ReadFile(name)
	var j Journal
	if err != nil || j.readEntries(data) != nil {
		return nil
	}
	return j.accounts.withoutIdle()
}

// readEntries applies all complete lines of the file's data and sets size to their length. An invalid line is an error.
func (j *Journal) readEntries(data []byte) error {
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		var e JournalEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		j.addEntry(&e)
	}
	j.size = int64(len(whole))
	return nil
}

// addEntry passes an entry to replay and applies it to the accounts.
func (j *Journal) addEntry(e *JournalEntry) {
	if j.replay != nil {
		j.replay(e)
	}
	j.accounts.addEntry(e)
}

// Write applies an entry to the accounts, passes it to OpenJournal's replay, and appends it to the file after the
// earlier ones that were not written. After a failure the next entry starts at the same offset, so that the file never
// has a truncated line in the middle. Write does not report failures: without the entry, only a later process that
// continues the sweep lacks it.
func (j *Journal) Write(e JournalEntry) {
	j.addEntry(&e)
	line, _ := json.Marshal(e) // strings, numbers and times can always be encoded
	j.pending = append(append(j.pending, line...), '\n')
	if n, err := j.file.WriteAt(j.pending, j.size); err == nil {
		j.size, j.pending = j.size+int64(n), j.pending[:0]
	}
}

// NoteNow adds an entry with the current time to the current execution. Without one, or if it has ended, it has no
// effect. A nil Journal ignores the entry.
func (j *Journal) NoteNow(e JournalEntry) {
	if j == nil {
		return
	}
	if now := j.Current(); now == nil || !now.Ended.IsZero() {
		return
	}
	e.At, e.Text = results.AccountTime(), results.ShortenText(e.Text)
	j.Write(e)
}

// BeginExecution adds an execution. The argument by is a constant of package results, and place is the address of the
// workers' server.
func (j *Journal) BeginExecution(by, place string) {
	of := results.NewExecution(by)
	of.Place = place
	j.Write(JournalEntry{Event: Began, Of: &of})
}

// EndExecution ends the current execution and returns all accounts, without workers that took no part. If totals is not
// nil, its runs, losses, workers and failures replace the execution's. Without a current execution, or if it has ended,
// it only returns the accounts.
func (j *Journal) EndExecution(totals *results.Execution, interrupted bool) []results.Execution {
	j.NoteNow(JournalEntry{Event: Ended, Of: totals, Interrupted: interrupted})
	return j.accounts.withoutIdle()
}

// Current returns the account of the last execution, or nil.
func (j *Journal) Current() *results.Execution { return j.accounts.current() }

// Executions returns the accounts of all executions.
func (j *Journal) Executions() []results.Execution { return j.accounts }

// Close closes the file.
func (j *Journal) Close() { j.file.Close() }

// Remove closes and deletes the file.
func (j *Journal) Remove() {
	j.Close()
	os.Remove(j.name)
}
