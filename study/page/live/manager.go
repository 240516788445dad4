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

// Config is what jobs need to know.
type Config struct {
	Dir        string // results go into folders of their own below it
	Executable string // revision.Executable of the program
	// Jobs is how many runs of an experiment are carried out at a time, 0 meaning one a core, with a notice if these are
	// fewer than usual. The error is about one that this machine cannot carry out.
	Jobs   func(s *experiment.Spec) (n int, notice string, err error)
	Report func(*results.Outcome) error // writes the report into the folder
	// Runner is where runs are carried out, if not here, for one job; tell is told of what others do meanwhile, and of
	// notices. What it returns is to be called at the job's end. nil: here. Traces stay with who makes them: jobs that
	// leave some are carried out here.
	Runner func(jobs int, tell func(Sweep), notice func(string)) (run.Runner, func() error, error)
}

// Sweep is how the workers of a job are.
type Sweep struct {
	Workers []Worker
	Queued  int    // runs that were handed over and have not come back
	Done    int    // that came back with a result
	Failed  int    // with an error
	Checked int    // that were made twice and compared
	Lost    int    // times that a worker did not come back with one
	Aside   int    // workers that gave something wrong
	Waiting string // why nothing goes on; "": it does
}

// Worker is one of them.
type Worker struct {
	Name             string
	Jobs, Hand, Done int // runs at a time, now, and that it has made
	State            string
}

// Limits of what can be asked for.
const (
	mostWaiting = 32        // jobs that are not done
	mostKept    = 100       // jobs that are done
	mostFilms   = 128 << 20 // bytes of films of runs that are over
)

// ErrBusy is the error of a job too many.
var ErrBusy = fmt.Errorf("%d jobs wait already; stop one, or wait until one is done", mostWaiting)

// ErrClosed is the error of a job that comes when the manager is closed.
var ErrClosed = errors.New("the server is about to end")

// Manager carries out one job after another.
type Manager struct {
	config Config
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex
	jobs []*Job // in the order of their beginnings
	last int
}

// New begins to wait for jobs. Close ends it.
func New(c Config) *Manager {
	m := &Manager{config: c, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	go m.work()
	return m
}

// Close stops the job that is under way, and keeps what is finished of it. It returns when that is done.
func (m *Manager) Close() {
	m.cancel()
	<-m.ended
}

// Start puts an experiment into the queue. Traces are the ports that are traced, if any. Command is what would give the
// same results on a command line.
func (m *Manager) Start(s *experiment.Spec, command string, traces []string) (*Job, error) {
	return m.add(&Job{Spec: s, Command: command, traces: traces, runs: plan.Runs(s),
		Elsewhere: m.config.Runner != nil && len(traces) == 0})
}

// Watch puts a single run of an experiment into the queue, of which nothing is kept but its film.
func (m *Manager) Watch(r *plan.Run) (*Job, error) {
	return m.add(&Job{Spec: r.Spec, Single: r, runs: []*plan.Run{r}})
}

func (m *Manager) add(j *Job) (*Job, error) {
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
	if waiting >= mostWaiting {
		return nil, ErrBusy
	}
	m.last++
	j.ID, j.Asked = m.last, time.Now()
	j.ctx, j.cancel = context.WithCancel(m.ctx)
	j.changed = make(chan struct{})
	j.state = Waiting
	j.each = make([]RunState, len(j.runs))
	m.jobs = append(m.jobs, j)
	if over := len(m.jobs) - mostKept; over > 0 {
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

// Jobs are those that there are, the latest first.
func (m *Manager) Jobs() []*Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.jobs)
	slices.Reverse(all)
	return all
}

// Job finds one; nil if there is none.
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

// next is the job that is to be carried out.
func (m *Manager) next() *Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.State() == Waiting {
			return j
		}
	}
	return nil
}

func (m *Manager) work() {
	defer close(m.ended)
	for {
		j := m.next()
		if j == nil {
			select {
			case <-m.ctx.Done():
				return
			case <-m.wake:
			}
			continue
		}
		if j.begin() {
			j.end(m.carryOut(j))
			m.forget(j)
		}
	}
}

// forget drops the oldest films when they take too much.
func (m *Manager) forget(latest *Job) {
	sum := 0
	for _, j := range m.Jobs() {
		if sum += j.filmed(); sum > mostFilms {
			j.forget(j == latest)
		}
	}
}

// carryOut carries out a job.
func (m *Manager) carryOut(j *Job) (*results.Outcome, error) {
	if j.Single != nil {
		_, err := run.Again(j.ctx, j.Single, m.config.Executable, j.observe)
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
		j.notice(notice)
	}
	o := run.Options{Jobs: jobs, Dir: m.config.Dir, Executable: m.config.Executable, Command: j.Command,
		OnProgress: j.progress, OnNotice: j.notice, Report: m.config.Report, Trace: j.traces,
		Observe: func(r *plan.Run, c *sim.Config) run.Observer { return j.observe(r, c) }}
	if m.config.Runner != nil && !j.Elsewhere {
		j.notice("its runs leave traces, and so are carried out here, by no workers")
	}
	if j.Elsewhere {
		runner, ended, err := m.config.Runner(jobs, j.sweep, j.notice)
		if err != nil {
			return nil, err
		}
		o.Runner = carried{runner, j}
		out, err := run.Execute(j.ctx, j.Spec, o)
		return out, errors.Join(err, ended())
	}
	return run.Execute(j.ctx, j.Spec, o)
}
