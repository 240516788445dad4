package slurm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// journalFile is the journal's name in the folder slurm of the results.
const journalFile = "journal"

// runOutcome is what a run has come to in an execution.
type runOutcome int

const (
	other   runOutcome = iota // it is still in the queue, or no part of the execution
	taken                     // its result was taken
	missing                   // its task ended without it
	broken                    // it failed
)

// Account returns what has happened: by job, the runs that were taken, and those that did not come.
func (r *Runner) Account(dir string, interrupted bool) []results.Execution {
	if r.journal == nil { // no run was handed over
		return remote.ReadAccounts(filepath.Join(dir, "slurm", journalFile))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := &results.Execution{}
	for _, b := range r.batches {
		b.addJobs(of, b.jobOf, func(task int, id string) runOutcome {
			x := r.entries[id]
			switch {
			case x == nil || x.in != b || b.jobOf(task) == 0:
				return other
			case x.state == left:
				return missing
			case x.wants && x.state == finished:
				return taken
			case x.wants && x.state == failed:
				return broken
			}
			return other
		})
	}
	return r.journal.End(of, interrupted)
}

// addJobs adds to an execution the jobs of the folder's tasks, with what has come of their runs. jobOf returns the job
// of a task; 0 if it has none.
func (f *Folder) addJobs(e *results.Execution, jobOf func(task int) int,
	outcomeOf func(task int, id string) runOutcome) {
	jobs, tasks := map[int]*results.Worker{}, map[int][]int{}
	for task, ids := range f.Job.Tasks {
		job := jobOf(task)
		w := jobs[job]
		if w == nil {
			w = &results.Worker{Name: fmt.Sprintf("job %d", job), Revision: f.Job.Revision.String()}
			jobs[job] = w
		}
		w.Jobs++
		tasks[job] = append(tasks[job], task)
		for _, id := range ids {
			switch outcomeOf(task, id) {
			case taken:
				w.Runs++
			case missing:
				w.Lost++
			case broken:
				w.Errors++
				e.Failed = append(e.Failed, results.FailedRun{Run: run.NameOf(f.runs[id]), Error: results.Brief(f.failure(id))})
			}
		}
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		w := jobs[job]
		switch {
		case job != 0:
			w.Host = f.hosts(job, tasks[job])
		case w.Runs+w.Errors+w.Lost == 0:
			continue
		default:
			w.Name = "tasks without logs"
		}
		e.Runs, e.Lost, e.Workers = e.Runs+w.Runs, e.Lost+w.Lost, append(e.Workers, *w)
	}
}

// onHost begins the line of a task's log that says which machine carries it out.
const onHost = "this task is carried out by "

// hosts are the machines that a job's tasks say in their logs that they are on.
func (f *Folder) hosts(job int, tasks []int) string {
	all := map[string]bool{}
	for _, task := range tasks {
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

// Account returns what was collected, of which jobs.
func (c *Collector) Account(_ string, interrupted bool) []results.Execution {
	if c.lack == nil { // no run was missing
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	e := c.account
	e.Ended, e.Interrupted = results.Now(), interrupted
	jobs := c.folder.submitted()
	c.folder.addJobs(&e, func(task int) int { return jobs[task] },
		func(_ int, id string) runOutcome { return c.outcomes[id] })
	e.Workers = slices.DeleteFunc(e.Workers, func(w results.Worker) bool { return w.Runs+w.Errors+w.Lost == 0 })
	for _, text := range c.Missing(context.Background()) {
		e.Events = append(e.Events, results.TimedNotice{At: e.Ended, Text: results.Brief(text)})
	}
	return []results.Execution{e}
}
