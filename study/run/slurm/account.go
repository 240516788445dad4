package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir/internal/document"
	"weir/study/results"
	"weir/study/run"
)

// account is what happens in an execution, and what is known of those before that were killed. It lies beside the
// folders of jobs, so that the next one finds it.
type account struct {
	lock sync.Mutex
	file string // "": nowhere
	all  []results.Execution
}

// accountFile is that, in the folder slurm of the results.
const accountFile = "account.json"

// openAccount begins one, behind those that have not come to their ends.
func openAccount(base string) (*account, error) {
	a := &account{file: filepath.Join(base, accountFile), all: unended(base)}
	a.all = append(a.all, run.NewAccount(results.BySlurm))
	return a, a.keep()
}

// unended are the executions that were killed.
func unended(base string) (all []results.Execution) {
	data, err := document.ReadFile(filepath.Join(base, accountFile), document.LargestResult)
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

func (a *account) keep() error {
	data, _ := json.Marshal(a.all) // of strings, numbers and times
	return results.WriteFile(a.file, append(data, '\n'))
}

// now is the execution that goes on. The lock is held.
func (a *account) now() *results.Execution { return &a.all[len(a.all)-1] }

// mostTold is how many events an account lists.
const mostTold = 500

// tell notes what is told.
func (a *account) tell(text string) {
	if a == nil {
		return
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	e := a.now()
	if len(e.Events) == mostTold {
		e.Further++
		return
	}
	e.Events = append(e.Events, results.Event{At: run.Now(), Text: results.Brief(text)})
	a.keep() // what cannot be kept now is at the end
}

// Account says what has happened: by job, the runs that were taken, and those that did not come.
func (r *Runner) Account(dir string, interrupted bool) []results.Execution {
	if r.account == nil { // nothing had to be carried out
		return unended(filepath.Join(dir, "slurm"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.account.lock.Lock()
	defer r.account.lock.Unlock()
	e := r.account.now()
	e.Ended, e.Interrupted, e.Runs, e.Lost, e.Workers, e.Failed = run.Now(), interrupted, 0, 0, nil, nil
	for _, b := range r.batches {
		for i, a := range b.Job.Arrays {
			if b.jobs[i] != 0 {
				e.Workers = append(e.Workers, r.told(e, b, i, a))
			}
		}
	}
	r.account.keep() // until End
	return slices.Clone(r.account.all)
}

// told is what a job has given.
func (r *Runner) told(e *results.Execution, b *batch, array int, of Array) results.Worker {
	w := results.Worker{Name: fmt.Sprintf("job %d", b.jobs[array]), Revision: b.Job.Revision.String(),
		Jobs: of.Last - of.First + 1}
	for task := of.First; task <= of.Last; task++ {
		for _, id := range b.Job.Tasks[task] {
			x := r.entries[id]
			if x == nil || x.in != b {
				continue
			}
			switch {
			case x.state == finished && x.wants:
				w.Runs++
			case x.state == left:
				w.Lost++
			case x.state == failed && x.wants:
				w.Errors++
				e.Failed = append(e.Failed, results.FailedRun{Run: run.NameOf(r.plan[id]), Error: results.Brief(b.failure(id))})
			}
		}
	}
	w.Host = b.hosts(b.jobs[array], of)
	e.Runs, e.Lost = e.Runs+w.Runs, e.Lost+w.Lost
	return w
}

// onHost begins the line of a task's log that says which machine carries it out.
const onHost = "this task is carried out by "

// hosts are the machines that a job's tasks say in their logs that they are on.
func (f *Folder) hosts(job int, of Array) string {
	all := map[string]bool{}
	for task := of.First; task <= of.Last; task++ {
		data, err := document.ReadFile(filepath.Join(f.Dir, logs, logName(job, task)), document.LargestFile)
		if err != nil {
			continue // it has not begun, or its log is elsewhere
		}
		for line := range strings.Lines(string(data)) {
			if host, is := strings.CutPrefix(line, onHost); is {
				all[results.Brief(host)] = true
			}
		}
	}
	const most = 8
	names := slices.Sorted(maps.Keys(all))
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d others", n))
	}
	return strings.Join(names, ", ")
}

// sayHost says which machine this is.
func sayHost(say func(text string)) {
	if host, err := os.Hostname(); err == nil {
		say(onHost + host)
	}
}

// Account says what was collected, of which jobs.
func (c *Collector) Account(_ string, interrupted bool) []results.Execution {
	if c.lack == nil { // nothing was missing
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	e := c.account
	e.Ended, e.Interrupted = run.Now(), interrupted
	jobs, at := c.folder.submitted(), map[int]*results.Worker{}
	for task, ids := range c.folder.Job.Tasks {
		job := jobs[task]
		w := at[job]
		if w == nil {
			w = &results.Worker{Name: fmt.Sprintf("job %d", job), Revision: c.folder.Job.Revision.String()}
			if job == 0 {
				w.Name = "tasks without logs"
			}
			at[job] = w
		}
		w.Jobs++
		for _, id := range ids {
			if why, failed := c.failed[id]; failed {
				w.Errors++
				e.Failed = append(e.Failed, results.FailedRun{Run: run.NameOf(c.folder.runs[id]), Error: results.Brief(why)})
			} else if c.taken[id] {
				w.Runs++
				e.Runs++
			}
		}
		e.Lost, w.Lost = e.Lost+c.lack[task], w.Lost+c.lack[task]
	}
	for _, job := range slices.Sorted(maps.Keys(at)) {
		w := at[job]
		if job != 0 {
			w.Host = c.folder.hosts(job, Array{First: 0, Last: len(c.folder.Job.Tasks) - 1})
		}
		if w.Runs+w.Errors+w.Lost > 0 {
			e.Workers = append(e.Workers, *w)
		}
	}
	for _, text := range c.Missing(context.Background()) {
		e.Events = append(e.Events, results.Event{At: e.Ended, Text: results.Brief(text)})
	}
	return []results.Execution{e}
}
