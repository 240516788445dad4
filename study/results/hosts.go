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

// Hosts is what host.json has: the machines that a folder's results come from and, of sweeps, what happened.
type Hosts struct {
	Machines   []Machine
	Merged     bool        // the folder was made of several
	Executions []Execution // in the order of their beginnings
}

// Machine is one that has carried out runs, or has had others do so.
type Machine struct {
	Host       string `json:"host"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Executable string `json:"executable_sha256"`
	Revision   string `json:"revision"`
	Version    string `json:"version"` // of the program, as people call it
	Jobs       int    `json:"jobs"`

	facts json.RawMessage // all that is said of it
}

// Execution is what happened from a beginning to an end of carrying out runs by workers or on a cluster, or here beside
// those.
type Execution struct {
	ID       string    `json:"id"`
	By       string    `json:"by"`              // one of the constants below
	Place    string    `json:"place,omitempty"` // the server of workers
	Host     string    `json:"host"`            // that asked for it
	Revision string    `json:"revision"`        // of its program
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended,omitzero"` // zero: it was killed
	// Interrupted: Ctrl-C or a signal has ended it before it was through.
	Interrupted bool          `json:"interrupted,omitempty"`
	Runs        int           `json:"runs"` // that were taken
	Workers     []Worker      `json:"workers,omitempty"`
	Failed      []FailedRun   `json:"failed,omitempty"`
	Checked     int           `json:"checked,omitempty"` // runs made twice whose results were alike
	Judged      int           `json:"judged,omitempty"`  // runs that whoever asked made itself, to see who is right
	Lost        int           `json:"lost,omitempty"`    // times that a run did not come back, and was handed out anew
	Twice       int           `json:"twice,omitempty"`   // results that came though the run was there already
	Waits       []IdlePeriod  `json:"waits,omitempty"`
	Events      []TimedNotice `json:"events,omitempty"`
	Further     int           `json:"further_events,omitempty"` // that are not listed
}

// What carries out the runs of an Execution.
const (
	ByWorkers = "workers" // weir worker
	BySlurm   = "slurm"   // weir run --runner slurm
	ByCollect = "collect" // weir collect
	ByHere    = "here"    // weir run, on the machine itself
)

// NewExecution returns the begin of an execution by this process. by is one of the constants above.
func NewExecution(by string) Execution {
	host, _ := os.Hostname()
	return Execution{ID: rand.Text(), By: by, Host: host, Revision: revision.This().String(), Begun: Now()}
}

// Now returns the time in the resolution that accounts have.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Worker is one that took part in an Execution: a weir worker, or a job of Slurm.
type Worker struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Host     string `json:"host,omitempty"`
	Revision string `json:"revision,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`     // runs at a time
	Runs     int    `json:"runs"`               // taken of it
	Compared int    `json:"compared,omitempty"` // runs of others that it made, to be compared
	Anew     int    `json:"anew,omitempty"`     // its results that were discarded, and made by others
	Errors   int    `json:"errors,omitempty"`   // of runs that it reported
	Lost     int    `json:"lost,omitempty"`     // runs that it took and did not come back with
	Broken   int    `json:"broken,omitempty"`   // times that its connection broke, and it came back
	Refused  string `json:"refused,omitempty"`  // why it carried out nothing
	SetAside string `json:"set_aside,omitempty"`
}

// FailedRun is a run that was given up.
type FailedRun struct {
	Run   string `json:"run"`   // its point and seed
	Error string `json:"error"` // the last one
}

// IdlePeriod is a period in which no run made progress.
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

// ReadHosts reads host.json of a results folder. One that is not there says nothing; what is wrong with one is an
// InputErrors.
func ReadHosts(dir string) (*Hosts, error) {
	data, err := document.ReadFile(filepath.Join(dir, hostsFile), document.LargestResult)
	if errors.Is(err, fs.ErrNotExist) {
		return &Hosts{}, nil
	}
	if err != nil {
		return nil, wrong(dir, hostsFile, "it cannot be read: %v", document.Reason(err))
	}
	h, err := parseHosts(data)
	if err != nil {
		return nil, wrong(dir, hostsFile, "it is not what weir writes: %v", err)
	}
	return h, nil
}

// parseHosts reads one machine, or of a merged folder several.
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
			return nil, errors.New("it is null")
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
		json.Compact(&facts, raw) // it has been read
		m.facts = facts.Bytes()
		h.Machines = append(h.Machines, m)
	}
	h.Executions = unite(doc.Executions)
	return h, nil
}

// HostsOf is host.json of a folder whose results come from this machine.
func HostsOf(m Machine, executions []Execution) *Hosts {
	m.facts, _ = json.Marshal(m)
	return &Hosts{Machines: []Machine{m}, Executions: unite(executions)}
}

// json is the file: an object of the machine or, of a merged folder, a list of them, and in both what happened.
func (h *Hosts) json() []byte {
	doc := map[string]json.RawMessage{}
	if len(h.Machines) == 1 && !h.Merged {
		json.Unmarshal(h.Machines[0].facts, &doc) // it has been read, or written
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
	data, _ := json.Marshal(doc) // of strings, numbers and what was read as JSON
	return []byte(text.Lines(string(Indent(data))))
}

// WriteHosts writes host.json of a results folder.
func WriteHosts(dir string, h *Hosts) error {
	return WriteFile(filepath.Join(dir, hostsFile), h.json())
}

// together is what several folders have: each machine and each execution once.
func (h *Hosts) together(others ...*Hosts) *Hosts {
	machines, executions := map[string]Machine{}, []Execution{}
	for _, o := range append([]*Hosts{h}, others...) {
		for _, m := range o.Machines {
			machines[string(m.facts)] = m
		}
		executions = append(executions, o.Executions...)
	}
	all := &Hosts{Merged: true, Executions: unite(executions)}
	for _, facts := range slices.Sorted(maps.Keys(machines)) {
		all.Machines = append(all.Machines, machines[facts])
	}
	return all
}

// unite orders executions by their beginnings, each once: what was said of one last counts.
func unite(all []Execution) []Execution {
	at := map[string]int{}
	var once []Execution
	for _, e := range all {
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

// Brief is what somebody else says, as an account has it: the first line, not too long, of which nothing acts on a
// terminal.
func Brief(s string) string {
	const most = 300
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(text.Shown(s)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text.Shown(s)
}
