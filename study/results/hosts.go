package results

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/document"
	"weir/internal/revision"
	"weir/internal/text"
)

// Hosts is the content of host.json: the machines that a folder's results come from, and its executions.
type Hosts struct {
	Machines   []Machine
	Merged     bool        // the folder was merged from several
	Executions []Execution // by their start
}

// Machine is a machine that executed runs or had others execute them.
type Machine struct {
	Host       string `json:"host"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Executable string `json:"executable_sha256"`
	Revision   string `json:"revision"`
	Version    string `json:"version"` // version of the program
	Jobs       int    `json:"jobs"`

	facts json.RawMessage // all fields of the file
}

// Execution is the account of one execution of runs with workers or a cluster, from start to end.
type Execution struct {
	ID       string    `json:"id"`
	By       string    `json:"by"`              // one of the constants below
	Place    string    `json:"place,omitempty"` // the server of workers
	Host     string    `json:"host"`            // host of the process that asked for the runs
	Revision string    `json:"revision"`        // of that process's program
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended,omitzero"` // zero: it was killed
	// Interrupted reports that Ctrl-C or a signal ended it early.
	Interrupted   bool          `json:"interrupted,omitempty"`
	Runs          int           `json:"runs"` // runs accepted
	Workers       []Worker      `json:"workers,omitempty"`
	Failed        []FailedRun   `json:"failed,omitempty"`
	Checked       int           `json:"checked,omitempty"` // runs made twice with equal results
	Settled       int           `json:"judged,omitempty"`  // runs repeated by the asking process to settle differences
	Lost          int           `json:"lost,omitempty"`    // times that a run was lost and handed out again
	Twice         int           `json:"twice,omitempty"`   // duplicate results
	Waits         []IdlePeriod  `json:"waits,omitempty"`
	Events        []TimedNotice `json:"events,omitempty"`
	FurtherEvents int           `json:"further_events,omitempty"` // number of events that are not listed
}

// Executors of the runs of an Execution.
const (
	ByWorkers = "workers" // weir worker
	BySlurm   = "slurm"   // weir run --runner slurm
	ByCollect = "collect" // weir collect
	ByHere    = "here"    // weir run, on the machine itself
)

// NewExecution returns the start of an execution by this process. runner is one of the constants above. It has a new
// random ID and begins at the current time.
func NewExecution(runner string) Execution {
	host, _ := os.Hostname()
	return Execution{ID: rand.Text(), By: runner, Host: host, Revision: revision.This().String(), Begun: AccountTime()}
}

// AccountTime returns the current time in UTC in the resolution of accounts, milliseconds.
func AccountTime() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Worker is a participant of an Execution: a weir worker, or a job of Slurm.
type Worker struct {
	ID            string `json:"id,omitempty"`
	Name          string `json:"name"`
	Host          string `json:"host,omitempty"`
	Revision      string `json:"revision,omitempty"`
	Jobs          int    `json:"jobs,omitempty"`     // runs at a time
	Runs          int    `json:"runs"`               // results accepted from it
	Compared      int    `json:"compared,omitempty"` // runs of others repeated for comparison
	Discarded     int    `json:"anew,omitempty"`     // its results that were discarded and made by others
	Errors        int    `json:"errors,omitempty"`   // runs that it reported as failed
	Lost          int    `json:"lost,omitempty"`     // runs that it took and did not return
	Reconnections int    `json:"broken,omitempty"`   // reconnections
	Refused       string `json:"refused,omitempty"`  // why it executed no runs
	SetAside      string `json:"set_aside,omitempty"`
}

// FailedRun is a run that failed for good.
type FailedRun struct {
	Run   string `json:"run"`   // its point and seed
	Error string `json:"error"` // of the last try
}

// IdlePeriod is a period without progress.
type IdlePeriod struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: it did not end
	Why  []string  `json:"why"`
}

// TimedNotice is a notice to the user, with its time.
type TimedNotice struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

const hostsFile = "host.json"

// ReadHosts reads host.json of a results folder. A missing file gives an empty Hosts. A file that is invalid or cannot
// be read gives an InputErrors.
func ReadHosts(dir string) (*Hosts, error) {
	data, err := document.ReadFile(filepath.Join(dir, hostsFile), document.MaxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return &Hosts{}, nil
	}
	if err != nil {
		return nil, fileError(dir, hostsFile, "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	h, err := parseHosts(data)
	if err != nil {
		return nil, fileError(dir, hostsFile, "the file is not one that weir writes: %v", err)
	}
	return h, nil
}

// parseHosts parses host.json with one machine, or several of a merged folder.
func parseHosts(data []byte) (*Hosts, error) {
	var doc struct {
		Hosts      []json.RawMessage `json:"hosts"`
		Executions []Execution       `json:"executions"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	merged := doc.Hosts != nil
	if !merged {
		var facts map[string]json.RawMessage
		if err := json.Unmarshal(data, &facts); err != nil {
			return nil, err
		}
		if facts == nil {
			return nil, errors.New("its value is null; an object is expected")
		}
		delete(facts, "executions")
		raw, _ := json.Marshal(facts) // of what was read as JSON
		doc.Hosts = []json.RawMessage{raw}
	}
	h := &Hosts{Merged: merged}
	for _, raw := range doc.Hosts {
		var m Machine
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		var facts bytes.Buffer
		json.Compact(&facts, raw) // it is valid JSON
		m.facts = facts.Bytes()
		h.Machines = append(h.Machines, m)
	}
	h.Executions = uniteExecutions(doc.Executions)
	return h, nil
}

// NewHosts returns host.json for a folder with results of machine m. Later changes of the machine in the result have no
// effect on the file.
func NewHosts(m Machine, executions []Execution) *Hosts {
	m.facts, _ = json.Marshal(m)
	return &Hosts{Machines: []Machine{m}, Executions: uniteExecutions(executions)}
}

// json returns the file: an object of the machine with its unknown fields or, for a merged folder, a list of machines,
// and the executions.
func (h *Hosts) json() []byte {
	doc := map[string]json.RawMessage{}
	if len(h.Machines) == 1 && !h.Merged {
		json.Unmarshal(h.Machines[0].facts, &doc) // it was read or written as JSON
	} else {
		list := []json.RawMessage{}
		for _, m := range h.Machines {
			list = append(list, m.facts)
		}
		doc["hosts"], _ = json.Marshal(list)
	}
	if len(h.Executions) > 0 {
		doc["executions"], _ = json.Marshal(h.Executions)
	}
	data, _ := json.Marshal(doc) // of strings, numbers and valid JSON
	return []byte(text.EscapeLines(string(IndentJSON(data))))
}

// WriteHosts writes host.json of a results folder and replaces an existing one.
func WriteHosts(dir string, h *Hosts) error {
	return WriteFile(filepath.Join(dir, hostsFile), h.json())
}

// mergeHosts returns the union of several folders' machines and executions, marked as merged. Machines with the same
// facts are one. It changes no argument.
func (h *Hosts) mergeHosts(others ...*Hosts) *Hosts {
	machines, executions := map[string]Machine{}, []Execution{}
	for _, o := range append([]*Hosts{h}, others...) {
		for _, m := range o.Machines {
			machines[string(m.facts)] = m
		}
		executions = append(executions, o.Executions...)
	}
	all := &Hosts{Merged: true, Executions: uniteExecutions(executions)}
	for _, facts := range slices.Sorted(maps.Keys(machines)) {
		all.Machines = append(all.Machines, machines[facts])
	}
	return all
}

// uniteExecutions orders executions by their start and keeps the account of each ID that ended last, or of equal ones
// the later in the list.
func uniteExecutions(executions []Execution) []Execution {
	at := map[string]int{}
	var once []Execution
	for _, e := range executions {
		i, is := at[e.ID]
		switch {
		case !is:
			at[e.ID] = len(once)
			once = append(once, e)
		case !e.Ended.Before(once[i].Ended):
			once[i] = e
		}
	}
	slices.SortStableFunc(once, func(a, b Execution) int {
		return cmp.Or(a.Begun.Compare(b.Begun), cmp.Compare(a.ID, b.ID))
	})
	return once
}

// ShortenText returns the first line of a text from another process, shortened to 300 characters with characters that
// would act on a terminal escaped.
func ShortenText(s string) string {
	const maxLength = 300
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(text.EscapeLine(s)); len(r) > maxLength {
		return string(r[:maxLength]) + "…"
	}
	return text.EscapeLine(s)
}
