package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir/internal/text"
	"weir/study/results"
	"weir/study/run"
)

// Collector is a run.Runner that carries out nothing: it gives what tasks of a folder have given.
type Collector struct {
	folder *Folder
	lack   map[int]int // by task: runs of which nothing is there
	total  int

	lock     sync.Mutex
	outcomes map[string]runOutcome // by run
	account  results.Execution
	why      []string // of what is missing
	asked    bool     // why is known
}

// Collector makes a runner of what the folder has.
func (f *Folder) Collector() *Collector { return &Collector{folder: f} }

// Begin looks for what is there.
func (c *Collector) Begin(_ context.Context, w *run.Work) error {
	c.lack, c.total, c.asked = map[int]int{}, 0, false
	c.outcomes, c.account = map[string]runOutcome{}, results.NewExecution(results.ByCollect)
	refresh(c.folder.Dir)
	for task, ids := range c.folder.Job.Tasks {
		for _, id := range ids {
			if w.Dir != "" && results.HasRun(w.Dir, id) {
				continue
			}
			if c.folder.result(id) == nil && c.folder.failure(id) == "" {
				c.lack[task]++
				c.total++
				c.outcomes[id] = missing
			}
		}
	}
	return nil
}

// Room is how many runs are handed over at a time.
func (c *Collector) Room() int { return 16 }

// Carry gives what a task has given of a run.
func (c *Collector) Carry(_ context.Context, t run.Task, _ func(uint64, float64)) ([]byte, error) {
	if c.folder.runs[t.ID] == nil {
		return nil, run.ErrLeft
	}
	data, why := c.folder.result(t.ID), ""
	if data == nil {
		why = c.folder.failure(t.ID)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if data != nil {
		c.outcomes[t.ID] = taken
		return data, nil
	}
	if why != "" {
		c.outcomes[t.ID] = broken
		return nil, errors.New(why)
	}
	return nil, run.ErrLeft
}

// VerifyResults trusts what is there.
func (c *Collector) VerifyResults(context.Context) ([]string, error) { return nil, nil }

// End has nothing to end.
func (c *Collector) End() error { return nil }

// Missing says why runs are not there, as far as Slurm or the tasks' logs say it, and what carries them out.
func (c *Collector) Missing(ctx context.Context) []string {
	if !c.asked {
		c.asked, c.why = true, c.missing(ctx)
	}
	return c.why
}

func (c *Collector) missing(ctx context.Context) (texts []string) {
	f := c.folder
	if len(c.lack) == 0 {
		return nil
	}
	jobs := f.submitted()
	waiting, err := f.commands.queue(ctx) // if there is no queue here, or it does not answer, then logs have the rest
	busy, lost := map[int]bool{}, map[int]int{}
	for _, q := range waiting {
		if same(q.dir, f.Dir) && c.lack[q.task] > 0 {
			busy[q.task] = true
		}
	}
	never := 0
	for task, n := range c.lack {
		switch {
		case busy[task]:
		case jobs[task] == 0:
			never += n
		default:
			lost[task] = n
		}
	}
	if len(busy) > 0 {
		texts = append(texts, fmt.Sprintf("still in the queue: %s, which lack %s", text.Count(len(busy), "task"),
			text.Count(c.total-never-sum(lost), "run")))
	}
	if err == nil {
		texts = append(texts, f.describe(ctx, lost, func(task int) int { return jobs[task] })...)
	} else {
		texts = append(texts, f.recount(lost, jobs)...)
	}
	if never > 0 {
		texts = append(texts, fmt.Sprintf("not begun: the tasks of %s", text.Count(never, "missing run")))
	}
	return append(texts, f.again(c.lack, busy)...)
}

func sum(n map[int]int) (all int) {
	for _, v := range n {
		all += v
	}
	return all
}

// submitted are the last jobs of tasks that have begun, by task, as the names of logs say.
func (f *Folder) submitted() map[int]int {
	jobs := map[int]int{}
	entries, _ := os.ReadDir(filepath.Join(f.Dir, logs))
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), ".txt")
		a, b, _ := strings.Cut(name, "_")
		job, err := strconv.Atoi(a)
		task, bad := strconv.Atoi(b)
		if err == nil && bad == nil && e.Name() == logName(job, task) {
			jobs[task] = max(jobs[task], job)
		}
	}
	return jobs
}

// recount is describe where there is no queue to ask: tasks that began may run still.
func (f *Folder) recount(lost, jobs map[int]int) (texts []string) {
	if len(lost) == 0 {
		return nil
	}
	var tasks []int
	for task := range lost {
		tasks = append(tasks, task)
	}
	slices.Sort(tasks)
	problem := fmt.Sprintf("begun, and running still or ended: the tasks of %s (%s)",
		text.Count(sum(lost), "missing run"), spans(tasks))
	if line := f.lastLine(jobs[tasks[0]], tasks[0]); line != "" {
		problem += fmt.Sprintf("; %s says last: %s", filepath.Join(f.Dir, logs, logName(jobs[tasks[0]], tasks[0])), line)
	}
	return []string{problem}
}

// again are the commands that submit tasks once more, but those that the queue has.
func (f *Folder) again(lack map[int]int, busy map[int]bool) (texts []string) {
	for _, a := range f.Job.Arrays {
		var tasks []int
		for task := a.First; task <= a.Last; task++ {
			if lack[task] > 0 && !busy[task] {
				tasks = append(tasks, task)
			}
		}
		if len(tasks) > 0 {
			texts = append(texts, fmt.Sprintf("in %s, sbatch --array=%s %s carries them out", f.Dir, spans(tasks), a.Script))
		}
	}
	return texts
}
