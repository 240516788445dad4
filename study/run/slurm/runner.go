package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// Runner executes runs as job arrays of a cluster: it submits them and follows the queue. It submits from folders
// slurm/1, slurm/2, … of the results folder, which the cluster's machines must share. Tasks continue after the Runner
// ends, and the next execution collects their results without submitting their runs again. A Runner serves one
// execution.
type Runner struct {
	Options Options
	Notice  func(text string) // called with jobs, their reasons for waiting, and tasks that ended without their runs

	work   *run.Work
	base   string               // folder with the submitted folders
	lock   *atomicfile.File     // lock of that folder
	plan   map[string]*plan.Run // all runs, by id
	stop   context.CancelFunc   // stops follow
	ended  chan struct{}        // closed when follow has ended
	events chan struct{}        // signals follow that runs were handed over

	mu           sync.Mutex
	entries      map[string]*entry
	batches      []*batch
	lastHandover time.Time // time of the last run that was handed over
	broken       error     // why no further run can be executed

	journal *remote.Journal // protected by mu

	silentSince    time.Time // since when the controller does not respond
	silenceNoticed bool      // a notice of that was issued

	commands commands
	program  string // path of the program for tasks; "": this program
}

// entry is a run that was handed over or submitted.
type entry struct {
	state    state
	batch    *batch        // batch with the run
	isWanted bool          // it was handed over
	done     chan struct{} // closed when the state is final
}

// state is the progress of a run.
type state int

const (
	wanted    state = iota // to be submitted
	submitted              // part of a task
	finished               // its result is available
	failed                 // its error is available
	left                   // its task ended without it
)

// isFinal reports whether the run has a result or an error, or is given up.
func (s state) isFinal() bool { return s >= finished }

// batch is a submitted folder.
type batch struct {
	*Folder
	name    string          // folder's name in notices
	jobs    []int           // by array; 0: not submitted
	alive   map[int]string  // states of the tasks in the queue
	noticed map[string]bool // reasons for waiting with a notice

	doubtful bool // it is unknown whether sbatch has queued the job
}

// maxOpenRuns limits the runs that are handed over at a time: each has an open file.
const maxOpenRuns = 1000

// MaxRuns returns the limit of runs that are handed over at a time.
func (r *Runner) MaxRuns() int { return maxOpenRuns }

// VerifyResults returns no runs: the tasks' results are trusted.
func (r *Runner) VerifyResults(context.Context) ([]string, error) { return nil, nil }

// Begin locks the folder, adopts the experiment's tasks that are queued or have results, and starts to follow the queue
// until Close. It returns an error without a results folder, without a response of Slurm, or if another process follows
// the sweep.
func (r *Runner) Begin(ctx context.Context, w *run.Work) error {
	if w.Dir == "" {
		return errors.New("a sweep on Slurm needs a results folder")
	}
	if err := r.Options.Check(); err != nil {
		return err
	}
	dir, err := filepath.Abs(w.Dir)
	if err != nil {
		return err
	}
	r.work, r.base, r.entries = w, filepath.Join(dir, "slurm"), map[string]*entry{}
	r.plan, r.events = plan.IndexByID(plan.ListRuns(w.Spec), w.Executable), make(chan struct{}, 1)
	tasks, err := r.commands.listQueue(ctx)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(r.base); err != nil {
		return results.WrapWriteError(r.base, err)
	}
	const followed = "another process already follows this sweep; stop it first"
	if r.lock, err = remote.LockFolder(r.base, "follow", followed); err != nil {
		return err
	}
	if r.journal, err = remote.OpenJournal(filepath.Join(r.base, journalFile), nil); err != nil {
		return err
	}
	r.journal.BeginExecution(results.BySlurm, "")
	if err := r.adoptFolders(tasks); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.ended, r.lastHandover = make(chan struct{}), time.Now()
	go r.followQueue(ctx)
	return nil
}

// adoptFolders adopts the folders of earlier executions. The argument tasks is the queue. It removes folders without
// tasks in the queue or results that are needed, and ignores tasks of another program.
func (r *Runner) adoptFolders(tasks []queuedTask) error {
	entries, err := os.ReadDir(r.base)
	if err != nil {
		return results.WrapWriteError(r.base, err)
	}
	var names []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		b := r.openBatch(n)
		if b == nil {
			continue
		}
		b.updateStates(tasks)
		if r.adoptRuns(b) {
			r.batches = append(r.batches, b)
		} else {
			os.RemoveAll(b.Dir)
		}
	}
	return nil
}

// openBatch reads an existing folder. It returns nil unless this program wrote the folder.
func (r *Runner) openBatch(n int) *batch {
	dir := filepath.Join(r.base, strconv.Itoa(n))
	job, err := openJob(dir)
	if err != nil || job.Executable != r.work.Executable {
		return nil
	}
	f := &Folder{Dir: dir, Job: *job, Spec: r.work.Spec, runs: r.plan, commands: r.commands}
	b := newBatch(f)
	data, err := document.ReadFile(filepath.Join(dir, receipt), document.MaxFile)
	var jobs []int
	if err == nil && json.Unmarshal(data, &jobs) == nil && len(jobs) == len(b.jobs) {
		b.jobs = jobs
	}
	return b
}

// newBatch returns a batch of a folder without jobs.
func newBatch(f *Folder) *batch {
	return &batch{Folder: f, name: filepath.Join("slurm", filepath.Base(f.Dir)), jobs: make([]int, len(f.Job.Arrays)),
		alive: map[int]string{}, noticed: map[string]bool{}}
}

// receipt is the file with the numbers of a folder's jobs.
const receipt = "submitted.json"

// updateStates replaces the states of a batch's tasks by the queue's states. If sbatch was called and its response was
// lost, the job that works in the folder is the batch's.
func (b *batch) updateStates(tasks []queuedTask) {
	clear(b.alive)
	for _, q := range tasks {
		for i, a := range b.Job.Arrays {
			if q.task < a.First || q.task > a.Last {
				continue
			}
			if b.jobs[i] == 0 && isSameFolder(q.dir, b.Dir) {
				b.jobs[i] = q.job
			}
			if b.jobs[i] == q.job {
				b.alive[q.task] = q.state
			}
		}
	}
}

// isSameFolder reports whether two names are the same folder.
func isSameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, bad := os.Stat(b)
	return err == nil && bad == nil && os.SameFile(x, y)
}

// adoptRuns adds the runs of a batch that the results lack and that are queued or finished. It reports whether the
// folder is still needed.
func (r *Runner) adoptRuns(b *batch) (isNeeded bool) {
	isNeeded = len(b.alive) > 0
	for task, ids := range b.Job.Tasks {
		for _, id := range ids {
			e := &entry{state: submitted, batch: b, done: make(chan struct{})}
			switch {
			case r.plan[id] == nil || r.entries[id] != nil || r.isKept(id):
				continue
			case !r.work.Fresh && b.readResult(id) != nil:
				e.state, isNeeded = finished, true
				close(e.done)
			case b.alive[task] == "":
				continue
			}
			r.entries[id] = e
		}
	}
	return isNeeded
}

// isKept reports whether the results folder has a run that need not be repeated.
func (r *Runner) isKept(id string) bool {
	return !r.work.Fresh && results.HasRun(r.work.Dir, id)
}

// ExecuteRun waits for the result or the failure of a run. It returns run.ErrNotExecuted if the run's task ended
// without either, and a run.LostError if no further run can be submitted. It reports no progress.
func (r *Runner) ExecuteRun(ctx context.Context, t run.Task, _ func(uint64, float64)) ([]byte, error) {
	e, err := r.registerRun(t.ID)
	if err != nil {
		return nil, run.LostError(err)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.done:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.state {
	case finished:
		return document.ReadFile(results.RunFile(e.batch.Dir, t.ID), document.MaxResult)
	case failed:
		return nil, errors.New(e.batch.readFailure(t.ID))
	case left:
		return nil, run.ErrNotExecuted
	}
	return nil, run.LostError(r.broken)
}

// registerRun registers a run that is handed over and returns its entry, an existing one if its task is already
// submitted. It returns an error if no further run can be executed.
func (r *Runner) registerRun(id string) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return nil, r.broken
	}
	e := r.entries[id]
	if e == nil {
		e = &entry{done: make(chan struct{})}
		r.entries[id] = e
		r.lastHandover = time.Now()
	}
	e.isWanted = true
	select {
	case r.events <- struct{}{}:
	default:
	}
	return e, nil
}

// failAll ends all runs without a final state: no further run can be executed. ExecuteRun returns err for them. It is
// called at most once.
func (r *Runner) failAll(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	for _, e := range r.entries {
		if !e.state.isFinal() {
			close(e.done)
		}
	}
}

// isReady reports whether runs wait for submission and no new ones have arrived for a while.
func (r *Runner) isReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.lastHandover) < gatherTime {
		return false
	}
	for _, e := range r.entries {
		if e.state == wanted {
			return true
		}
	}
	return false
}

// submitRuns submits the waiting runs in a new folder. It adds the experiment's further runs, unless the number of runs
// depends on their results. If no array could be submitted, it removes the folder.
func (r *Runner) submitRuns(ctx context.Context) error {
	var runs []*plan.Run
	_, later := r.work.Spec.NeedOn(experiment.Sim)
	for _, x := range plan.ListRunsOn(r.work.Spec, experiment.Sim) {
		id := x.ID(r.work.Executable)
		r.mu.Lock()
		e := r.entries[id]
		if e == nil && !later && !r.isKept(id) {
			e = &entry{done: make(chan struct{})}
			r.entries[id] = e
		}
		r.mu.Unlock()
		if e != nil && e.state == wanted {
			runs = append(runs, x)
		}
	}
	executable, err := r.program, error(nil)
	if executable == "" {
		if executable, err = os.Executable(); err != nil {
			return err
		}
	}
	f, err := ExportFolder(r.freeFolder(), r.work, runs, executable, r.Options)
	if err != nil {
		return err
	}
	f.commands = r.commands
	b := newBatch(f)
	for i := range f.Job.Arrays {
		if err = b.submitArray(ctx, i); err != nil {
			break
		}
		r.issueNotice("job %d: %s of %s", b.jobs[i], text.Count(len(b.tasksOf(i)), "task"), b.name)
	}
	if b.jobs[0] == 0 && !b.doubtful {
		os.RemoveAll(f.Dir)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, b)
	for _, x := range runs {
		e := r.entries[x.ID(r.work.Executable)]
		e.state, e.batch = submitted, b
	}
	return err
}

// submitArray submits an array and stores its job's number. It ignores the end of ctx: a job that is queued without
// being known could not be followed. If sbatch fails, the queue decides for the same reason.
func (b *batch) submitArray(ctx context.Context, i int) (err error) {
	ctx = context.WithoutCancel(ctx)
	if b.jobs[i], err = b.commands.submitScript(ctx, b.Dir, b.Job.Arrays[i].Script); err != nil {
		tasks, silent := b.commands.listQueue(ctx)
		b.updateStates(tasks)
		if b.doubtful = silent != nil; b.jobs[i] == 0 {
			return err
		}
	}
	for _, task := range b.tasksOf(i) {
		b.alive[task] = "PENDING"
	}
	data, _ := json.Marshal(b.jobs)
	return results.WriteFile(filepath.Join(b.Dir, receipt), append(data, '\n'))
}

// tasksOf returns the tasks of an array.
func (b *batch) tasksOf(i int) (tasks []int) {
	for task := b.Job.Arrays[i].First; task <= b.Job.Arrays[i].Last; task++ {
		tasks = append(tasks, task)
	}
	return tasks
}

// freeFolder returns a folder name that does not exist yet.
func (r *Runner) freeFolder() string {
	for n := 1; ; n++ {
		dir := filepath.Join(r.base, strconv.Itoa(n))
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
	}
}

// issueNotice notes a notice in the journal and passes it to Notice. r.mu is not held.
func (r *Runner) issueNotice(format string, args ...any) {
	notice := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.journal.NoteNow(remote.JournalEntry{Event: remote.Reported, Text: notice})
	r.mu.Unlock()
	if r.Notice != nil {
		r.Notice(notice)
	}
}
