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

// journalFile is the name of the journal in the folder slurm of the results.
const journalFile = "journal"

// runOutcome is the outcome of a run in an execution.
type runOutcome int

const (
	pending  runOutcome = iota // still queued, or not part of the execution
	accepted                   // its result was accepted
	missing                    // its task ended without it
	broken                     // it failed
)

// ReportExecutions ends the execution in the journal and returns all accounts: the runs and losses of each job. Without
// a journal it returns the accounts in the results folder.
func (r *Runner) ReportExecutions(dir string, interrupted bool) []results.Execution {
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
			case x == nil || x.batch != b || b.jobOf(task) == 0:
				return pending
			case x.state == left:
				return missing
			case x.isWanted && x.state == finished:
				return accepted
			case x.isWanted && x.state == failed:
				return broken
			}
			return pending
		})
	}
	return r.journal.EndExecution(of, interrupted)
}

// addJobs adds the jobs of the folder's tasks, with the outcomes of their runs, to an execution. The function jobOf
// returns the job of a task, or 0. Tasks with job 0 count as one worker, unless they have no outcome. The execution's
// runs and losses increase, too.
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
			case accepted:
				w.Runs++
			case missing:
				w.Lost++
			case broken:
				w.Errors++
				e.Failed = append(e.Failed, results.FailedRun{Run: run.FormatRunName(f.runs[id]),
					Error: results.ShortenText(f.readFailure(id))})
			}
		}
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		w := jobs[job]
		switch {
		case job != 0:
			w.Host = f.listHosts(job, tasks[job])
		case w.Runs+w.Errors+w.Lost == 0:
			continue
		default:
			w.Name = "tasks without logs"
		}
		e.Runs, e.Lost, e.Workers = e.Runs+w.Runs, e.Lost+w.Lost, append(e.Workers, *w)
	}
}

// onHost is the prefix of the log line that names a task's machine.
const onHost = "this task is carried out by "

// listHosts returns the sorted machines on which a job's tasks ran, from their logs, separated by commas. It names up
// to eight and the number of the others.
func (f *Folder) listHosts(job int, tasks []int) string {
	all := map[string]bool{}
	for _, task := range tasks {
		data, err := document.ReadFile(filepath.Join(f.Dir, logs, logName(job, task)), document.MaxFile)
		if err != nil {
			continue // it has not begun, or its log is elsewhere
		}
		for line := range strings.Lines(string(data)) {
			if host, is := strings.CutPrefix(line, onHost); is {
				all[results.ShortenText(host)] = true
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

// printHost reports a line with the name of this machine, which listHosts finds in the log.
func printHost(report func(text string)) {
	if host, err := os.Hostname(); err == nil {
		report(onHost + host)
	}
}

// ReportExecutions returns an execution with the collected runs by job, or nil if no run was missing at Begin. It polls
// the queue if DescribeMissing has not. It ignores the folder's name.
func (c *Collector) ReportExecutions(_ string, interrupted bool) []results.Execution {
	if c.lacking == nil { // no run was missing
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	e := c.account
	e.Ended, e.Interrupted = results.AccountTime(), interrupted
	jobs := c.folder.findJobs()
	c.folder.addJobs(&e, func(task int) int { return jobs[task] },
		func(_ int, id string) runOutcome { return c.outcomes[id] })
	e.Workers = slices.DeleteFunc(e.Workers, func(w results.Worker) bool { return w.Runs+w.Errors+w.Lost == 0 })
	for _, text := range c.DescribeMissing(context.Background()) {
		e.Events = append(e.Events, results.TimedNotice{At: e.Ended, Text: results.ShortenText(text)})
	}
	return []results.Execution{e}
}
