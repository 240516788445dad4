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

// Collector is a run.Runner that executes no runs. It returns the results that the tasks of a folder have left.
type Collector struct {
	folder  *Folder
	lacking map[int]int // by task: number of runs without result or failure
	total   int

	lock      sync.Mutex
	outcomes  map[string]runOutcome // by run
	account   results.Execution
	reasons   []string // reasons why runs are missing
	explained bool     // why has been set
}

// NewCollector returns a runner for the results in the folder.
func (f *Folder) NewCollector() *Collector { return &Collector{folder: f} }

// Begin counts the runs that are missing in both the folder and the results, by task. It removes damaged results from
// the folder. The error is always nil.
func (c *Collector) Begin(_ context.Context, w *run.Work) error {
	c.lacking, c.total, c.explained = map[int]int{}, 0, false
	c.outcomes, c.account = map[string]runOutcome{}, results.NewExecution(results.ByCollect)
	refreshFolders(c.folder.Dir)
	for task, ids := range c.folder.Job.Tasks {
		for _, id := range ids {
			if w.Dir != "" && results.HasRun(w.Dir, id) {
				continue
			}
			if c.folder.readResult(id) == nil && c.folder.readFailure(id) == "" {
				c.lacking[task]++
				c.total++
				c.outcomes[id] = missing
			}
		}
	}
	return nil
}

// MaxRuns returns the number of runs that are handed over at a time.
func (c *Collector) MaxRuns() int { return 16 }

// ExecuteRun returns the result of a run from the folder, its failure as an error, or run.ErrNotExecuted if it has
// neither.
func (c *Collector) ExecuteRun(_ context.Context, t run.Task, _ func(uint64, float64)) ([]byte, error) {
	if c.folder.runs[t.ID] == nil {
		return nil, run.ErrNotExecuted
	}
	data, why := c.folder.readResult(t.ID), ""
	if data == nil {
		why = c.folder.readFailure(t.ID)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if data != nil {
		c.outcomes[t.ID] = accepted
		return data, nil
	}
	if why != "" {
		c.outcomes[t.ID] = broken
		return nil, errors.New(why)
	}
	return nil, run.ErrNotExecuted
}

// VerifyResults returns no runs: the tasks' results are trusted.
func (c *Collector) VerifyResults(context.Context) ([]string, error) { return nil, nil }

// Close has no effect.
func (c *Collector) Close() error { return nil }

// DescribeMissing returns one line for each reason why runs are missing, from the queue or the tasks' logs, and the
// commands that submit them again. It returns the same lines on further calls.
func (c *Collector) DescribeMissing(ctx context.Context) []string {
	if !c.explained {
		c.explained, c.reasons = true, c.findReasons(ctx)
	}
	return c.reasons
}

// findReasons returns the lines of DescribeMissing. It polls the queue, and uses only the logs if the queue does not
// respond. Without missing runs it returns nil.
func (c *Collector) findReasons(ctx context.Context) (texts []string) {
	f := c.folder
	if len(c.lacking) == 0 {
		return nil
	}
	jobs := f.findJobs()
	waiting, err := f.commands.listQueue(ctx) // without a queue or a response, the logs have to do
	busy, lost := map[int]bool{}, map[int]int{}
	for _, q := range waiting {
		if isSameFolder(q.dir, f.Dir) && c.lacking[q.task] > 0 {
			busy[q.task] = true
		}
	}
	never := 0
	for task, n := range c.lacking {
		switch {
		case busy[task]:
		case jobs[task] == 0:
			never += n
		default:
			lost[task] = n
		}
	}
	if len(busy) > 0 {
		texts = append(texts, fmt.Sprintf("still in the queue: %s with %s", text.Count(len(busy), "task"),
			text.Count(c.total-never-sumValues(lost), "missing run")))
	}
	if err == nil {
		texts = append(texts, f.describeEnds(ctx, lost, func(task int) int { return jobs[task] })...)
	} else {
		texts = append(texts, f.describeUnqueued(lost, jobs)...)
	}
	if never > 0 {
		texts = append(texts, fmt.Sprintf("not started: the tasks of %s", text.Count(never, "missing run")))
	}
	return append(texts, f.listResubmissions(c.lacking, busy)...)
}

// sumValues returns the sum of the values of a map.
func sumValues(n map[int]int) (all int) {
	for _, v := range n {
		all += v
	}
	return all
}

// findJobs returns the last job of each task that has begun, by task, from the names of the logs.
func (f *Folder) findJobs() map[int]int {
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

// describeUnqueued describes missing runs as describeEnds does, without a queue: tasks that began may still be running.
// The map lost has the number of missing runs, and jobs the job, by task.
func (f *Folder) describeUnqueued(lost, jobs map[int]int) (texts []string) {
	if len(lost) == 0 {
		return nil
	}
	var tasks []int
	for task := range lost {
		tasks = append(tasks, task)
	}
	slices.Sort(tasks)
	problem := fmt.Sprintf("started, and still running or ended: the tasks of %s (%s)",
		text.Count(sumValues(lost), "missing run"), formatIndices(tasks))
	if line := f.lastLine(jobs[tasks[0]], tasks[0]); line != "" {
		problem += fmt.Sprintf("; last line of %s: %s", filepath.Join(f.Dir, logs, logName(jobs[tasks[0]], tasks[0])), line)
	}
	return []string{problem}
}

// listResubmissions returns the commands that submit tasks with missing runs again, except the tasks in the queue: one
// for each array. The map missing has the number of missing runs by task.
func (f *Folder) listResubmissions(missing map[int]int, busy map[int]bool) (texts []string) {
	for _, a := range f.Job.Arrays {
		var tasks []int
		for task := a.First; task <= a.Last; task++ {
			if missing[task] > 0 && !busy[task] {
				tasks = append(tasks, task)
			}
		}
		if len(tasks) > 0 {
			texts = append(texts, fmt.Sprintf("to run them, call sbatch in %s: sbatch --array=%s %s",
				f.Dir, formatIndices(tasks),
				a.Script))
		}
	}
	return texts
}
