package slurm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/document"
	"weir/internal/text"
	"weir/study/results"
)

// Intervals of polling. Many users share a cluster's controller and file system, so the intervals grow while tasks do
// not change.
const (
	gatherTime   = 200 * time.Millisecond // without a new run, after which the waiting runs are submitted
	minPoll      = 100 * time.Millisecond
	maxPoll      = 2 * time.Second
	minQueuePoll = 500 * time.Millisecond
	maxQueuePoll = 15 * time.Second
	patience     = time.Minute     // with an unresponsive controller, before a notice
	endTimeout   = 3 * time.Second // for tasks to end after their last run
)

// followQueue submits the runs that are handed over and finds the results of tasks, until ctx ends or runs cannot be
// submitted. It closes ended at its end.
func (r *Runner) followQueue(ctx context.Context) {
	defer close(r.ended)
	look, ask, asked := minPoll, minQueuePoll, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.events:
			time.Sleep(time.Millisecond) // several events arrive together
		case <-time.After(look):
			look = min(look*5/4, maxPoll)
		}
		if r.isReady() {
			if err := r.submitRuns(ctx); err != nil {
				r.failAll(err)
				return
			}
			look, ask, asked = minPoll, minQueuePoll, time.Now()
		}
		for _, b := range r.batches {
			r.findResults(b)
		}
		if time.Since(asked) >= ask {
			r.pollQueue(ctx)
			ask, asked = min(ask*3/2, maxQueuePoll), time.Now()
		}
	}
}

// findResults finds new results and failures of a batch in its folder, and ends the ExecuteRun of their runs. r.mu is
// not held.
func (r *Runner) findResults(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hasMissing(b) {
		return
	}
	for folder, is := range map[string]state{"runs": finished, failures: failed} {
		entries, _ := os.ReadDir(filepath.Join(b.Dir, folder)) // a failure is retried at the next poll
		for _, file := range entries {
			id := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
			if e := r.entries[id]; e != nil && e.batch == b && !e.state.isFinal() {
				e.state = is
				close(e.done)
			}
		}
	}
}

// hasMissing reports whether a batch has runs without result or failure. The caller holds r.mu, or followQueue has
// ended.
func (r *Runner) hasMissing(b *batch) bool {
	for _, e := range r.entries {
		if e.batch == b && !e.state.isFinal() {
			return true
		}
	}
	return false
}

// pollQueue polls the queue and updates the states of tasks. Tasks that have left the queue without results lose their
// runs. An unresponsive controller leads to one notice after patience.
func (r *Runner) pollQueue(ctx context.Context) {
	tasks, err := r.commands.listQueue(ctx)
	if err != nil {
		if r.silentSince.IsZero() {
			r.silentSince = time.Now()
		}
		if time.Since(r.silentSince) > patience && !r.silenceNoticed && ctx.Err() == nil {
			r.silenceNoticed = true
			r.issueNotice("%v; the tasks continue, and weir asks Slurm again", err)
		}
		return
	}
	r.silentSince, r.silenceNoticed = time.Time{}, false
	for _, b := range r.batches {
		b.updateStates(tasks)
		r.warnWaiting(b, tasks)
		if lost := r.countLost(b); len(lost) > 0 {
			refreshFolders(b.Dir)
			r.findResults(b)
			r.giveUpRuns(ctx, b)
		}
	}
}

// transientReasons are Slurm's reasons for waiting that pass without action.
var transientReasons = []string{"", "None", "Priority", "Resources", "JobArrayTaskLimit", "BeginTime", "Cleaning"}

// warnWaiting issues a notice for each other reason that keeps a batch's tasks waiting, once per reason.
func (r *Runner) warnWaiting(b *batch, tasks []queuedTask) {
	for _, q := range tasks {
		if slices.Contains(b.jobs, q.job) && q.state == "PENDING" && !slices.Contains(transientReasons, q.reason) &&
			!b.noticed[q.reason] {
			b.noticed[q.reason] = true
			r.issueNotice("job %d waits: %s", q.job, q.reason)
		}
	}
}

// countLost returns the number of missing runs of each task that has left the queue, without tasks that miss no run.
func (r *Runner) countLost(b *batch) map[int]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	lack := map[int]int{}
	for task, ids := range b.Job.Tasks {
		if b.alive[task] != "" {
			continue
		}
		for _, id := range ids {
			if e := r.entries[id]; e != nil && e.batch == b && !e.state.isFinal() {
				lack[task]++
			}
		}
	}
	return lack
}

// refreshFolders makes a network file system read folders again that other machines write: it writes a file into each
// and removes it.
func refreshFolders(dir string) {
	for _, folder := range []string{"runs", failures, logs} {
		name := filepath.Join(dir, folder, ".look")
		if os.WriteFile(name, nil, 0o600) == nil {
			os.Remove(name)
		}
	}
}

// giveUpRuns gives up the missing runs of tasks that have left the queue, which ends the waits for them, and issues
// notices on how the tasks ended.
func (r *Runner) giveUpRuns(ctx context.Context, b *batch) {
	lost := r.countLost(b)
	for _, text := range b.describeEnds(ctx, lost, b.jobOf) {
		r.issueNotice("%s; the same command resubmits them", text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for task := range lost {
		for _, id := range b.Job.Tasks[task] {
			if e := r.entries[id]; e != nil && e.batch == b && !e.state.isFinal() {
				e.state = left
				close(e.done)
			}
		}
	}
}

// jobOf returns the job that a task was submitted in, or 0 if it has not been submitted.
func (b *batch) jobOf(task int) int {
	for i, a := range b.Job.Arrays {
		if task >= a.First && task <= a.Last {
			return b.jobs[i]
		}
	}
	return 0
}

// describeEnds returns a line for each group of tasks of one job that ended alike, with the number of their missing
// runs. The map missing has these numbers by task. The function jobOf returns the job of a task, or 0.
func (f *Folder) describeEnds(ctx context.Context, missing map[int]int, jobOf func(task int) int) (texts []string) {
	type kind struct {
		job int
		how string
	}
	ended, alike := map[int]map[int]string{}, map[kind][]int{}
	var order []kind
	for _, task := range slices.Sorted(maps.Keys(missing)) {
		k := kind{job: jobOf(task)}
		if k.job > 0 && ended[k.job] == nil {
			if ended[k.job] = f.commands.listEnds(ctx, k.job); ended[k.job] == nil {
				ended[k.job] = map[int]string{}
			}
		}
		if k.how = ended[k.job][task]; alike[k] == nil {
			order = append(order, k)
		}
		alike[k] = append(alike[k], task)
	}
	for _, k := range order {
		tasks, runs := alike[k], 0
		for _, task := range tasks {
			runs += missing[task]
		}
		what, have, whose := "task ", "has", "its"
		if len(tasks) > 1 {
			what, have, whose = "tasks ", "have", "their"
		}
		text := what + formatIndices(tasks)
		if k.job > 0 {
			text += fmt.Sprintf(" of job %d", k.job)
		}
		text += fmt.Sprintf(" %s ended without %d of %s runs", have, runs, whose)
		if k.how != "" {
			text += ": " + k.how + f.suggestOption(tasks[0], k.how)
		}
		if line := f.lastLine(k.job, tasks[0]); line != "" {
			text += fmt.Sprintf("; last line of %s: %s", filepath.Join(f.Dir, logs, logName(k.job, tasks[0])), line)
		}
		texts = append(texts, text)
	}
	return texts
}

// suggestOption returns a hint on the option that raises an exceeded limit, or "".
func (f *Folder) suggestOption(task int, how string) string {
	for _, a := range f.Job.Arrays {
		switch {
		case task < a.First || task > a.Last:
		case strings.HasPrefix(how, "OUT_OF_MEMORY"):
			return fmt.Sprintf(" (limit %d MiB; --slurm-option mem=… raises it)", a.MemoryBytes>>20)
		case strings.HasPrefix(how, "TIMEOUT"):
			return fmt.Sprintf(" (limit %d min; --slurm-option time=… raises it)", a.Minutes)
		}
	}
	return ""
}

// logName returns the name of a task's log.
func logName(job, task int) string { return fmt.Sprintf("%d_%d.txt", job, task) }

// lastLine returns the last line of a task's log, at most 200 characters, or "" without a log. Terminal controls are
// escaped.
func (f *Folder) lastLine(job, task int) string {
	const most = 200
	data, err := document.ReadFile(filepath.Join(f.Dir, logs, logName(job, task)), document.MaxFile)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	line := []rune(lines[len(lines)-1])
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return text.EscapeLines(string(line))
}

// Close stops following the queue. Tasks with missing runs continue, after a notice. Of batches with all runs in the
// results, it cancels the remaining tasks and removes the folder. It removes the journal, which the results contain.
func (r *Runner) Close() error {
	if r.stop != nil {
		r.stop()
		<-r.ended
	}
	if r.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	for _, b := range r.batches {
		if r.isWhole(b) {
			r.removeBatch(ctx, b)
		} else if jobs := b.activeJobs(); len(jobs) > 0 && r.hasMissing(b) {
			r.issueNotice("the sweep continues on the cluster, and the same command collects its results; scancel %s stops it",
				strings.Join(jobs, " "))
		}
	}
	if r.journal != nil {
		r.journal.Remove() // the results contain it
	}
	r.lock.Discard()
	os.Remove(r.base) // only if it is empty
	return nil
}

// isWhole reports whether the results have all runs of a batch.
func (r *Runner) isWhole(b *batch) bool {
	for _, ids := range b.Job.Tasks {
		for _, id := range ids {
			if !results.HasRun(r.work.Dir, id) {
				return false
			}
		}
	}
	return true
}

// activeJobs returns the sorted jobs of a batch with tasks that wait or run and are not completing.
func (b *batch) activeJobs() (jobs []string) {
	for task, state := range b.alive {
		if name := strconv.Itoa(b.jobOf(task)); state != completing && !slices.Contains(jobs, name) {
			jobs = append(jobs, name)
		}
	}
	slices.Sort(jobs)
	return jobs
}

const completing = "COMPLETING"

// removeBatch waits until the tasks of a batch end or ctx does, cancels the remaining ones, and removes the folder. If
// they cannot be cancelled, the folder stays for a later execution.
func (r *Runner) removeBatch(ctx context.Context, b *batch) {
	for ctx.Err() == nil && len(b.activeJobs()) > 0 {
		if tasks, err := r.commands.listQueue(ctx); err == nil {
			b.updateStates(tasks)
		}
		time.Sleep(minPoll)
	}
	if jobs := b.activeJobs(); len(jobs) > 0 {
		if _, err := r.commands.callCommand(context.Background(), "", "scancel", jobs...); err != nil {
			return // a later execution removes it
		}
	}
	os.RemoveAll(b.Dir)
}
