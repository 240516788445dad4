package jetstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/nats-io/nuid"
)

// journal is what a coordinator that is started again has to know: the sweep's name, and of each result that was kept
// whose it is. A worker that is found out later has made some of them before.
type journal struct {
	file    *os.File
	sweep   sweep
	by      map[string]string // worker by run
	trusted map[string]bool   // by worker
	bad     map[string]bool
}

// entry is a line of it.
type entry struct {
	Sweep   sweep  `json:"sweep,omitempty"`
	Made    string `json:"made,omitempty"`
	Worker  string `json:"worker,omitempty"`
	Trusted bool   `json:"trusted,omitempty"`
	Bad     bool   `json:"bad,omitempty"`
}

// openJournal reads what there is, and begins one if that is nothing. A line that was cut off is left out.
func openJournal(name string) (*journal, error) {
	j := &journal{by: map[string]string{}, trusted: map[string]bool{}, bad: map[string]bool{}}
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for lines := bufio.NewScanner(bytes.NewReader(whole)); lines.Scan(); {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			return nil, fmt.Errorf("%s: it is damaged: remove the folder, and the runs that are there are kept", name)
		}
		switch {
		case e.Sweep != "":
			j.sweep = e.Sweep
		case e.Made != "":
			j.by[e.Made] = e.Worker
		case e.Bad:
			j.bad[e.Worker] = true
		case e.Trusted:
			j.trusted[e.Worker] = true
		}
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(int64(len(whole))); err != nil {
		return nil, err
	}
	if _, err := j.file.Seek(int64(len(whole)), 0); err != nil {
		return nil, err
	}
	if j.sweep == "" {
		j.sweep = sweep(nuid.Next())
		j.write(entry{Sweep: j.sweep})
	}
	return j, nil
}

// write adds a line. What cannot be written is lost to the next coordinator alone: it trusts nobody it does not know.
func (j *journal) write(e entry) { j.file.Write(append(encode(e), '\n')) }

func (j *journal) made(id, worker string) {
	j.by[id] = worker
	j.write(entry{Made: id, Worker: worker})
}

func (j *journal) trust(worker string) {
	j.trusted[worker] = true
	j.write(entry{Worker: worker, Trusted: true})
}

func (j *journal) setAside(worker string) {
	j.bad[worker] = true
	j.write(entry{Worker: worker, Bad: true})
}

func (j *journal) close() { j.file.Close() }
