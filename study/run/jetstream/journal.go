package jetstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nuid"

	"weir/study/results"
	"weir/study/run"
)

// journal is what a coordinator that is started again has to know: the sweep's name, of each result that was kept whose
// it is, for a worker that is found out later has made some of them before, and what has happened.
type journal struct {
	file    *os.File
	end     int64  // of what the file has
	pending []byte // what it does not have yet, for its disk was full
	sweep   sweep
	trace   string            // what is traced in it
	before  sweep             // which traced something else, and is over; "": none
	by      map[string]string // worker by run
	trusted map[string]bool   // by worker
	greeted map[string]bool   // workers that are the same program, and said hello before this execution
	bad     map[string]bool
	telling telling
}

// entry is a line of it.
type entry struct {
	Sweep   sweep  `json:"sweep,omitempty"`
	Trace   string `json:"trace,omitempty"` // of the sweep
	Made    string `json:"made,omitempty"`
	Worker  string `json:"worker,omitempty"`
	Trusted bool   `json:"trusted,omitempty"`
	Bad     bool   `json:"bad,omitempty"`
	Held    int    `json:"held,omitempty"` // results of it that were not taken yet

	Event       string             `json:"event,omitempty"` // one of account.go's
	At          time.Time          `json:"at,omitzero"`
	Run         string             `json:"run,omitempty"`
	Text        string             `json:"text,omitempty"`
	Of          *results.Execution `json:"of,omitempty"`
	Who         *results.Worker    `json:"who,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"`
}

// openJournal reads what there is, and begins one if that is nothing. A line that was cut off is left out. Where other
// ports were traced before, runs give something else now: the sweep is another.
func openJournal(name, traced string) (*journal, error) {
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	j, whole, err := readJournal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: it is damaged: remove the folder, and the runs that are there are kept", name)
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(whole); err != nil {
		return nil, err
	}
	j.end = whole
	j.readGreeted()
	if j.sweep == "" || j.trace != traced {
		j.before = j.sweep
		j.write(entry{Sweep: sweep(nuid.Next()), Trace: traced})
	}
	return j, nil
}

// traced says which traces runs leave; "": none.
func traced(w *run.Work) string {
	if len(w.Trace) == 0 {
		return ""
	}
	return string(encode(w.Trace)) + string(encode(w.Tracing))
}

// readJournal reads the lines that are whole, and says how many bytes they are.
func readJournal(data []byte) (*journal, int64, error) {
	j := &journal{by: map[string]string{}, trusted: map[string]bool{}, bad: map[string]bool{}}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, err
		}
		j.hear(&e)
	}
	return j, int64(len(whole)), nil
}

// hear takes what a line says.
func (j *journal) hear(e *entry) {
	switch {
	case e.Sweep != "":
		j.sweep, j.trace = e.Sweep, e.Trace
	case e.Made != "":
		j.by[e.Made] = e.Worker
	case e.Bad:
		j.bad[e.Worker] = true
	case e.Trusted:
		j.trusted[e.Worker] = true
	}
	j.telling.hear(e)
}

// write adds a line, and those before that could not be written. What never can is lost to the next coordinator alone:
// it trusts nobody it does not know.
func (j *journal) write(e entry) {
	j.hear(&e)
	j.pending = append(append(j.pending, encode(e)...), '\n')
	if n, err := j.file.WriteAt(j.pending, j.end); err == nil {
		j.end, j.pending = j.end+int64(n), j.pending[:0]
	} // else the next line begins where this one did, so that none is cut off in the middle
}

func (j *journal) made(id, worker string) { j.write(entry{Made: id, Worker: worker}) }

func (j *journal) trust(worker string) { j.write(entry{Worker: worker, Trusted: true}) }

// setAside notes that nothing is taken of a worker, of which so many results are held, and why.
func (j *journal) setAside(worker, why string, held int) {
	j.write(entry{Worker: worker, Bad: true, Text: results.Brief(why), Held: held, At: run.Now()})
}

func (j *journal) close() { j.file.Close() }
