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

// Runner carries out runs as arrays of a cluster: it submits them, and follows the queue. What it submits lies in
// folders slurm/1, slurm/2, … of the results folder, which the cluster's machines have to see, too. When it ends before
// its tasks they go on, and the next one takes what they give: runs that are in the queue are not submitted again. Use
// it for one execution.
type Runner struct {
	Options Options
	Notice  func(text string) // told of jobs, of what they wait for, and of tasks that ended without their runs

	work   *run.Work
	base   string               // folder of what is submitted
	lock   *atomicfile.File     // nobody else follows
	plan   map[string]*plan.Run // all runs, by id
	stop   context.CancelFunc   // of follow
	ended  chan struct{}        // follow has
	events chan struct{}        // something for follow to do

	mu      sync.Mutex
	entries map[string]*entry
	batches []*batch
	quiet   time.Time // since when no run was handed over
	broken  error     // nothing more can be carried out

	journal *remote.Journal // under mu

	silent time.Time // since when the controller does not answer
	said   bool      // that it does not

	commands commands
	program  string // that tasks run; "": this one
}

// entry is a run that is wanted, or was submitted.
type entry struct {
	state state
	in    *batch        // that has it
	wants bool          // it was handed over
	done  chan struct{} // closed when state is final
}

// state is how far a run is.
type state int

const (
	wanted    state = iota // it is to be submitted
	submitted              // a task has it
	finished               // its result is there
	failed                 // what it failed of is there
	left                   // its task ended without it
)

func (s state) final() bool { return s >= finished }

// batch is a folder that was submitted.
type batch struct {
	*Folder
	name  string          // its folder's, as notices have it
	jobs  []int           // by array; 0: it was not submitted
	alive map[int]string  // states of the tasks that the queue has
	said  map[string]bool // reasons for waiting

	doubtful bool // whether what sbatch was called for is in the queue: neither says it
}

// atOnce is how many runs are handed over at a time: each has an open file.
const atOnce = 1000

// Room is how many runs are handed over at a time at most.
func (r *Runner) Room() int { return atOnce }

// VerifyResults trusts what the tasks have given.
func (r *Runner) VerifyResults(context.Context) ([]string, error) { return nil, nil }

// Begin finds what is in the queue of the experiment already, and what that has given.
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
	r.plan, r.events = plan.ByID(plan.Runs(w.Spec), w.Executable), make(chan struct{}, 1)
	tasks, err := r.commands.queue(ctx)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(r.base); err != nil {
		return results.Unwritten(r.base, err)
	}
	if r.lock, err = remote.Lock(r.base, "follow", "another process follows this sweep already"); err != nil {
		return err
	}
	if r.journal, err = remote.OpenJournal(filepath.Join(r.base, journalFile), nil); err != nil {
		return err
	}
	r.journal.Begin(results.BySlurm, "")
	if err := r.recall(tasks); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.ended, r.quiet = make(chan struct{}), time.Now()
	go r.follow(ctx)
	return nil
}

// recall reads the folders of before. Those that are over, and have nothing that is wanted, are removed.
func (r *Runner) recall(tasks []queued) error {
	entries, err := os.ReadDir(r.base)
	if err != nil {
		return results.Unwritten(r.base, err)
	}
	var names []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		b := r.open(n)
		if b == nil {
			continue
		}
		b.note(tasks)
		if r.adopt(b) {
			r.batches = append(r.batches, b)
		} else {
			os.RemoveAll(b.Dir)
		}
	}
	return nil
}

// open reads a folder of before; nil if it has nothing of this experiment by this program.
func (r *Runner) open(n int) *batch {
	dir := filepath.Join(r.base, strconv.Itoa(n))
	job, err := openJob(dir)
	if err != nil || job.Executable != r.work.Executable {
		return nil
	}
	f := &Folder{Dir: dir, Job: *job, Spec: r.work.Spec, runs: r.plan, commands: r.commands}
	b := newBatch(f)
	data, err := document.ReadFile(filepath.Join(dir, receipt), document.LargestFile)
	var jobs []int
	if err == nil && json.Unmarshal(data, &jobs) == nil && len(jobs) == len(b.jobs) {
		b.jobs = jobs
	}
	return b
}

func newBatch(f *Folder) *batch {
	return &batch{Folder: f, name: filepath.Join("slurm", filepath.Base(f.Dir)), jobs: make([]int, len(f.Job.Arrays)),
		alive: map[int]string{}, said: map[string]bool{}}
}

// receipt is the file with the numbers of a folder's jobs.
const receipt = "submitted.json"

// note sets which tasks of a batch wait or run. Where sbatch was called and its answer was lost, the job is that which
// works in the folder.
func (b *batch) note(tasks []queued) {
	clear(b.alive)
	for _, q := range tasks {
		for i, a := range b.Job.Arrays {
			if q.task < a.First || q.task > a.Last {
				continue
			}
			if b.jobs[i] == 0 && same(q.dir, b.Dir) {
				b.jobs[i] = q.job
			}
			if b.jobs[i] == q.job {
				b.alive[q.task] = q.state
			}
		}
	}
}

// same reports whether two names are one folder's.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, bad := os.Stat(b)
	return err == nil && bad == nil && os.SameFile(x, y)
}

// adopt takes over the runs of a folder of before that the results lack: those that its tasks still have, and those
// that are finished. It reports whether the folder is still of use.
func (r *Runner) adopt(b *batch) (of bool) {
	of = len(b.alive) > 0
	for task, ids := range b.Job.Tasks {
		for _, id := range ids {
			e := &entry{state: submitted, in: b, done: make(chan struct{})}
			switch {
			case r.plan[id] == nil || r.entries[id] != nil || r.kept(id):
				continue
			case !r.work.Fresh && b.result(id) != nil:
				e.state, of = finished, true
				close(e.done)
			case b.alive[task] == "":
				continue
			}
			r.entries[id] = e
		}
	}
	return of
}

// kept reports whether the results folder has a run that need not be made again.
func (r *Runner) kept(id string) bool {
	return !r.work.Fresh && results.HasRun(r.work.Dir, id)
}

// Carry waits for what a task gives of a run.
func (r *Runner) Carry(ctx context.Context, t run.Task, _ func(uint64, float64)) ([]byte, error) {
	e, err := r.want(t.ID)
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
		return document.ReadFile(results.RunFile(e.in.Dir, t.ID), document.LargestResult)
	case failed:
		return nil, errors.New(e.in.failure(t.ID))
	case left:
		return nil, run.ErrLeft
	}
	return nil, run.LostError(r.broken)
}

// want is the entry of a run that is handed over.
func (r *Runner) want(id string) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return nil, r.broken
	}
	e := r.entries[id]
	if e == nil {
		e = &entry{done: make(chan struct{})}
		r.entries[id] = e
		r.quiet = time.Now()
	}
	e.wants = true
	select {
	case r.events <- struct{}{}:
	default:
	}
	return e, nil
}

// fail ends what is handed over: nothing more can be carried out.
func (r *Runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	for _, e := range r.entries {
		if !e.state.final() {
			close(e.done)
		}
	}
}

// ready reports whether there are runs to submit, and no more are being handed over.
func (r *Runner) ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.quiet) < gather {
		return false
	}
	for _, e := range r.entries {
		if e.state == wanted {
			return true
		}
	}
	return false
}

// submit submits the runs that are wanted, and with them those of the experiment that will be, unless it is decided
// later which.
func (r *Runner) submit(ctx context.Context) error {
	var runs []*plan.Run
	_, later := r.work.Spec.NeedOn(experiment.Sim)
	for _, x := range plan.RunsOn(r.work.Spec, experiment.Sim) {
		id := x.ID(r.work.Executable)
		r.mu.Lock()
		e := r.entries[id]
		if e == nil && !later && !r.kept(id) {
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
	f, err := Export(r.free(), r.work, runs, executable, r.Options)
	if err != nil {
		return err
	}
	f.commands = r.commands
	b := newBatch(f)
	for i := range f.Job.Arrays {
		if err = b.submit(ctx, i); err != nil {
			break
		}
		r.tell("job %d: %s of %s", b.jobs[i], text.Count(len(b.tasksOf(i)), "task"), b.name)
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
		e.state, e.in = submitted, b
	}
	return err
}

// submit submits an array, and notes the number of its job. Once begun it is not given up: the job would be there, and
// nobody would know. For the same reason the queue has the last word when sbatch fails.
func (b *batch) submit(ctx context.Context, i int) (err error) {
	ctx = context.WithoutCancel(ctx)
	if b.jobs[i], err = b.commands.submit(ctx, b.Dir, b.Job.Arrays[i].Script); err != nil {
		tasks, silent := b.commands.queue(ctx)
		b.note(tasks)
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

// tasksOf are the tasks of an array.
func (b *batch) tasksOf(i int) (tasks []int) {
	for task := b.Job.Arrays[i].First; task <= b.Job.Arrays[i].Last; task++ {
		tasks = append(tasks, task)
	}
	return tasks
}

// free is a folder that is not there yet.
func (r *Runner) free() string {
	for n := 1; ; n++ {
		dir := filepath.Join(r.base, strconv.Itoa(n))
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
	}
}

func (r *Runner) tell(format string, args ...any) {
	notice := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.journal.Note(remote.JournalEntry{Event: remote.Reported, Text: notice})
	r.mu.Unlock()
	if r.Notice != nil {
		r.Notice(notice)
	}
}
