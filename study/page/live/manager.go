package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/worlds/sim"
)

// Config configures a Manager.
type Config struct {
	Dir        string // parent folder of the results folders
	Executable string // revision.Executable of the program
	// Jobs returns the number of concurrent runs of an experiment, 0 meaning one per core, with a notice if the number
	// is lower than usual. It returns an error if this machine cannot run the experiment.
	Jobs   func(s *experiment.Spec) (n int, notice string, err error)
	Report func(*results.Outcome) error // writes the report into the folder
	// Runner returns the runner of a job that runs on other machines, and a function to call at the job's end; nil: run
	// here. The runner calls report with the workers' state and notice with notices. Traces stay on the machine that makes
	// them, so jobs with traces run here.
	Runner func(jobs int, report func(WorkersStatus), notice func(string)) (run.Runner, func() error, error)
}

// WorkersStatus is the state of the workers of a job.
type WorkersStatus struct {
	Workers []Worker
	Queued  int    // runs handed out without a result yet
	Done    int    // runs with a result
	Failed  int    // runs with an error
	Checked int    // runs made twice and compared
	Lost    int    // times that a worker lost a run
	Aside   int    // workers with wrong results
	Waiting string // reason for waiting; "": it does not wait
}

// Worker is the state of a worker.
type Worker struct {
	Name             string
	Jobs, Hand, Done int // concurrent runs, runs in progress, finished runs
	State            string
}

// Limits of a Manager.
const (
	maxWaiting   = 32        // unfinished jobs
	maxKept      = 100       // finished jobs
	maxFilmBytes = 128 << 20 // bytes of films of finished runs
)

// ErrBusy is returned for a job beyond the limit of waiting jobs.
var ErrBusy = fmt.Errorf("%d jobs are waiting, which is the maximum; stop one, or wait until one is done", maxWaiting)

// ErrClosed is returned for a job after Close.
var ErrClosed = errors.New("the server is stopping")

// Manager runs one job after the other.
type Manager struct {
	config Config
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{}
	ended  chan struct{}

	mu     sync.Mutex
	jobs   []*Job // in the order of submission
	lastID int
}

// New starts a manager that waits for jobs. Close ends it.
func New(c Config) *Manager {
	m := &Manager{config: c, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	go m.runJobs()
	return m
}

// Close stops the job in progress, waits until its finished runs are stored, and rejects further jobs.
func (m *Manager) Close() {
	m.cancel()
	<-m.ended
}

// QueueExperiment queues an experiment. The argument traces has the ports to trace, if any, and command is the command
// line that gives the same results. It returns ErrBusy if the queue is full, and ErrClosed after Close.
func (m *Manager) QueueExperiment(s *experiment.Spec, command string, traces []string) (*Job, error) {
	return m.enqueueJob(&Job{Spec: s, Command: command, traces: traces, runs: plan.ListRuns(s),
		Elsewhere: m.config.Runner != nil && len(traces) == 0})
}

// QueueFilm queues a single run of an experiment that keeps no results except its film. It returns the errors of
// QueueExperiment.
func (m *Manager) QueueFilm(r *plan.Run) (*Job, error) {
	return m.enqueueJob(&Job{Spec: r.Spec, Single: r, runs: []*plan.Run{r}})
}

// enqueueJob adds the job to the queue and wakes runJobs. It sets the job's ID and all fields of its state, and drops
// the oldest finished jobs beyond maxKept. It returns ErrClosed after Close, and ErrBusy if maxWaiting jobs have not
// finished.
func (m *Manager) enqueueJob(j *Job) (*Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, ErrClosed
	}
	waiting := 0
	for _, x := range m.jobs {
		if !x.State().Over() {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return nil, ErrBusy
	}
	m.lastID++
	j.ID, j.Asked = m.lastID, time.Now()
	j.ctx, j.cancel = context.WithCancel(m.ctx)
	j.changed = make(chan struct{})
	j.state = Waiting
	j.runStates = make([]RunState, len(j.runs))
	m.jobs = append(m.jobs, j)
	if over := len(m.jobs) - maxKept; over > 0 {
		m.jobs = slices.DeleteFunc(m.jobs, func(x *Job) bool {
			if over > 0 && x.State().Over() {
				over--
				return true
			}
			return false
		})
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return j, nil
}

// Jobs returns all jobs, the latest first.
func (m *Manager) Jobs() []*Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.jobs)
	slices.Reverse(all)
	return all
}

// Job returns the job with an ID; nil if it does not exist.
func (m *Manager) Job(id int) *Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// nextWaiting returns the oldest waiting job; nil without one.
func (m *Manager) nextWaiting() *Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.State() == Waiting {
			return j
		}
	}
	return nil
}

// runJobs runs the waiting jobs, one after the other, until the manager is closed. At its end it closes m.ended.
func (m *Manager) runJobs() {
	defer close(m.ended)
	for {
		j := m.nextWaiting()
		if j == nil {
			select {
			case <-m.ctx.Done():
				return
			case <-m.wake:
			}
			continue
		}
		if j.setBegun() {
			j.setEnded(m.runJob(j))
			m.limitFilms(j)
		}
	}
}

// limitFilms keeps the films of the latest jobs while they need at most maxFilmBytes together, and drops the films of
// all other jobs. The job latest keeps its last film in any case.
func (m *Manager) limitFilms(latest *Job) {
	sum := 0
	for _, j := range m.Jobs() {
		if sum += j.filmBytes(); sum > maxFilmBytes {
			j.dropFilms(j == latest)
		}
	}
}

// runJob executes a job and returns its outcome. A single run has no outcome, and no error if it was stopped. With
// Config.Runner, a job without traces runs on other machines. It updates the job's progress, films and notices.
func (m *Manager) runJob(j *Job) (*results.Outcome, error) {
	if j.Single != nil {
		_, err := run.RepeatRun(j.ctx, j.Single, m.config.Executable, j.startFilm)
		if j.ctx.Err() != nil {
			err = nil
		}
		return nil, err
	}
	jobs, notice, err := m.config.Jobs(j.Spec)
	if err != nil {
		return nil, err
	}
	if notice != "" {
		j.addNotice(notice)
	}
	o := run.Options{Jobs: jobs, Dir: m.config.Dir, Executable: m.config.Executable, Command: j.Command,
		OnProgress: j.setProgress, OnNotice: j.addNotice, Report: m.config.Report, Trace: j.traces,
		Observe: func(r *plan.Run, c *sim.Config) run.Observer { return j.startFilm(r, c) }}
	if m.config.Runner != nil && !j.Elsewhere {
		j.addNotice("its runs write traces, so they run on this machine and not on workers")
	}
	if j.Elsewhere {
		runner, ended, err := m.config.Runner(jobs, j.setWorkers, j.addNotice)
		if err != nil {
			return nil, err
		}
		o.Runner = observedRunner{runner, j}
		out, err := run.Execute(j.ctx, j.Spec, o)
		return out, errors.Join(err, ended())
	}
	return run.Execute(j.ctx, j.Spec, o)
}
