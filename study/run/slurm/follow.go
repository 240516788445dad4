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

// Times of following. A cluster's controller and file system serve many: what changes soon is looked at often, what
// goes on for long is not.
const (
	gather      = 200 * time.Millisecond // without another run, before those that were handed over are submitted
	firstLook   = 100 * time.Millisecond
	longestLook = 2 * time.Second
	firstAsk    = 500 * time.Millisecond
	longestAsk  = 15 * time.Second
	patience    = time.Minute     // with a controller that does not answer, before that is told
	lastWords   = 3 * time.Second // that tasks have to end when all their runs are there
)

// follow submits what is handed over, and finds what tasks give, until ctx ends.
func (r *Runner) follow(ctx context.Context) {
	defer close(r.ended)
	look, ask, asked := firstLook, firstAsk, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.events:
			time.Sleep(time.Millisecond) // more come together
		case <-time.After(look):
			look = min(look*5/4, longestLook)
		}
		if r.ready() {
			if err := r.submit(ctx); err != nil {
				r.fail(err)
				return
			}
			look, ask, asked = firstLook, firstAsk, time.Now()
		}
		for _, b := range r.batches {
			r.look(b)
		}
		if time.Since(asked) >= ask {
			r.ask(ctx)
			ask, asked = min(ask*3/2, longestAsk), time.Now()
		}
	}
}

// look finds what tasks of a batch have given by now.
func (r *Runner) look(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waits(b) {
		return
	}
	for folder, is := range map[string]state{"runs": finished, failures: failed} {
		entries, _ := os.ReadDir(filepath.Join(b.Dir, folder)) // if it cannot be read now, then later
		for _, file := range entries {
			id := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
			if e := r.entries[id]; e != nil && e.in == b && !e.state.final() {
				e.state = is
				close(e.done)
			}
		}
	}
}

// waits reports whether a batch has runs of which nothing is there.
func (r *Runner) waits(b *batch) bool {
	for _, e := range r.entries {
		if e.in == b && !e.state.final() {
			return true
		}
	}
	return false
}

// ask asks the queue which tasks wait or run. What others end without is left.
func (r *Runner) ask(ctx context.Context) {
	tasks, err := r.commands.queue(ctx)
	if err != nil {
		if r.silent.IsZero() {
			r.silent = time.Now()
		}
		if time.Since(r.silent) > patience && !r.said && ctx.Err() == nil {
			r.said = true
			r.tell("%v; tasks go on, and it is asked again", err)
		}
		return
	}
	r.silent, r.said = time.Time{}, false
	for _, b := range r.batches {
		b.note(tasks)
		r.waiting(b, tasks)
		if lost := r.without(b); len(lost) > 0 {
			refresh(b.Dir)
			r.look(b)
			r.leave(ctx, b)
		}
	}
}

// usual are reasons to wait that pass.
var usual = []string{"", "None", "Priority", "Resources", "JobArrayTaskLimit", "BeginTime", "Cleaning"}

// waiting tells what keeps tasks from beginning, if that may not pass by itself.
func (r *Runner) waiting(b *batch, tasks []queued) {
	for _, q := range tasks {
		if slices.Contains(b.jobs, q.job) && q.state == "PENDING" && !slices.Contains(usual, q.reason) && !b.said[q.reason] {
			b.said[q.reason] = true
			r.tell("job %d waits: %s", q.job, q.reason)
		}
	}
}

// without are the tasks of a batch that the queue does not have, and that lack runs: how many.
func (r *Runner) without(b *batch) map[int]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	lack := map[int]int{}
	for task, ids := range b.Job.Tasks {
		if b.alive[task] != "" {
			continue
		}
		for _, id := range ids {
			if e := r.entries[id]; e != nil && e.in == b && !e.state.final() {
				lack[task]++
			}
		}
	}
	return lack
}

// refresh has a network file system forget what it remembers of folders that other machines write into: it does when
// this one changes them.
func refresh(dir string) {
	for _, folder := range []string{"runs", failures, logs} {
		name := filepath.Join(dir, folder, ".look")
		if os.WriteFile(name, nil, 0o600) == nil {
			os.Remove(name)
		}
	}
}

// leave gives up the runs of tasks that have ended without them, and tells how they did.
func (r *Runner) leave(ctx context.Context, b *batch) {
	lost := r.without(b)
	for _, text := range b.describe(ctx, lost, b.jobOf) {
		r.tell("%s; the same command submits them again", text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for task := range lost {
		for _, id := range b.Job.Tasks[task] {
			if e := r.entries[id]; e != nil && e.in == b && !e.state.final() {
				e.state = left
				close(e.done)
			}
		}
	}
}

// jobOf is the job that a task was submitted in; 0 if in none.
func (b *batch) jobOf(task int) int {
	for i, a := range b.Job.Arrays {
		if task >= a.First && task <= a.Last {
			return b.jobs[i]
		}
	}
	return 0
}

// describe says how tasks have ended that lack so many runs: those together that have ended alike.
func (f *Folder) describe(ctx context.Context, lack map[int]int, jobOf func(task int) int) (texts []string) {
	type kind struct {
		job int
		how string
	}
	ended, alike := map[int]map[int]string{}, map[kind][]int{}
	var order []kind
	for _, task := range slices.Sorted(maps.Keys(lack)) {
		k := kind{job: jobOf(task)}
		if k.job > 0 && ended[k.job] == nil {
			if ended[k.job] = f.commands.ends(ctx, k.job); ended[k.job] == nil {
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
			runs += lack[task]
		}
		what, have, whose := "task ", "has", "its"
		if len(tasks) > 1 {
			what, have, whose = "tasks ", "have", "their"
		}
		text := what + spans(tasks)
		if k.job > 0 {
			text += fmt.Sprintf(" of job %d", k.job)
		}
		text += fmt.Sprintf(" %s ended without %d of %s runs", have, runs, whose)
		if k.how != "" {
			text += ": " + k.how + f.remedy(tasks[0], k.how)
		}
		if line := f.lastLine(k.job, tasks[0]); line != "" {
			text += fmt.Sprintf("; %s says last: %s", filepath.Join(f.Dir, logs, logName(k.job, tasks[0])), line)
		}
		texts = append(texts, text)
	}
	return texts
}

// remedy is what helps against limits.
func (f *Folder) remedy(task int, how string) string {
	for _, a := range f.Job.Arrays {
		switch {
		case task < a.First || task > a.Last:
		case strings.HasPrefix(how, "OUT_OF_MEMORY"):
			return fmt.Sprintf(" (of %d MiB that it was granted; --slurm-option mem=… grants more)", a.MemoryBytes>>20)
		case strings.HasPrefix(how, "TIMEOUT"):
			return fmt.Sprintf(" (after %d minutes that it was granted; --slurm-option time=… grants more)", a.Minutes)
		}
	}
	return ""
}

func logName(job, task int) string { return fmt.Sprintf("%d_%d.txt", job, task) }

// lastLine is what a task's log ends with, shortened.
func (f *Folder) lastLine(job, task int) string {
	const most = 200
	data, err := document.ReadFile(filepath.Join(f.Dir, logs, logName(job, task)), document.LargestFile)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	line := []rune(lines[len(lines)-1])
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return text.Lines(string(line))
}

// End stops following. Tasks that wait or run go on, but those whose runs are all there, which have nothing to do.
// Folders whose runs are all in the results are removed.
func (r *Runner) End() error {
	if r.stop != nil {
		r.stop()
		<-r.ended
	}
	if r.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	for _, b := range r.batches {
		if r.whole(b) {
			r.dismiss(ctx, b)
		} else if jobs := b.working(); len(jobs) > 0 && r.waits(b) {
			r.tell("the sweep goes on in the cluster, and the same command takes what it gives; scancel %s ends it",
				strings.Join(jobs, " "))
		}
	}
	if r.journal != nil {
		r.journal.Remove() // the results have it
	}
	r.lock.Discard()
	os.Remove(r.base) // if it is empty
	return nil
}

// whole reports whether the results have all runs of a batch.
func (r *Runner) whole(b *batch) bool {
	for _, ids := range b.Job.Tasks {
		for _, id := range ids {
			if !results.HasRun(r.work.Dir, id) {
				return false
			}
		}
	}
	return true
}

// working are the jobs of a batch with tasks that wait or run, and are not ending.
func (b *batch) working() (jobs []string) {
	for task, state := range b.alive {
		if name := strconv.Itoa(b.jobOf(task)); state != completing && !slices.Contains(jobs, name) {
			jobs = append(jobs, name)
		}
	}
	slices.Sort(jobs)
	return jobs
}

const completing = "COMPLETING"

// dismiss waits a little for the tasks of a batch to end, cancels those that do not, and removes the folder.
func (r *Runner) dismiss(ctx context.Context, b *batch) {
	for ctx.Err() == nil && len(b.working()) > 0 {
		if tasks, err := r.commands.queue(ctx); err == nil {
			b.note(tasks)
		}
		time.Sleep(firstLook)
	}
	if jobs := b.working(); len(jobs) > 0 {
		if _, err := r.commands.call(context.Background(), "", "scancel", jobs...); err != nil {
			return // the next one does it
		}
	}
	os.RemoveAll(b.Dir)
}
