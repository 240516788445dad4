package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/worlds/sim"
)

// JobState is the state of a job, from Waiting to Done, Stopped or Failed.
type JobState string

// What a job is.
const (
	Waiting JobState = "waiting"
	Running JobState = "running"
	Done    JobState = "done"
	Stopped JobState = "stopped"
	Failed  JobState = "failed"
)

// Over reports whether nothing more will happen.
func (s JobState) Over() bool { return s == Done || s == Stopped || s == Failed }

// RunState is how a run of a job is.
type RunState string

// What a run is. There: it had been finished before.
const (
	RunWaiting  RunState = ""
	RunGoing    RunState = "running"
	RunFinished RunState = "finished"
	RunThere    RunState = "there already"
	RunFailed   RunState = "failed"
	RunStopped  RunState = "stopped"
)

// Job is something that is carried out.
type Job struct {
	ID      int
	Spec    *experiment.Spec
	Command string
	Single  *plan.Run // it is this run alone, and keeps nothing; nil: the whole experiment
	Asked   time.Time
	// Elsewhere: workers carry out the runs, of which there are no films then.
	Elsewhere bool

	traces []string
	runs   []*plan.Run
	ctx    context.Context
	cancel context.CancelFunc

	jobState
}

// jobState is what changes while a job runs.
type jobState struct {
	mu      sync.Mutex
	state   JobState
	begun   time.Time
	ended   time.Time
	far     run.Progress
	each    []RunState
	films   []*recorder     // of runs that are under way, or over, in the order of their beginnings
	shares  map[int]float64 // of runs that workers have told of, by index
	notices []string
	workers *Sweep
	out     *results.Outcome
	err     error
	changed chan struct{} // closed at the next change
}

// Status is a job at a time.
type Status struct {
	State       JobState
	Begun       time.Time
	Ended       time.Time
	Far         run.Progress
	Each        []RunState // by run
	Going       []Going
	Notices     []string
	Workers     *Sweep
	Outcome     *results.Outcome // when it is over; nil if there is none
	Error       string
	HasFilms    []int // numbers of runs that there are films of
	Interrupted bool
}

// Going is a run under way.
type Going struct {
	Number  int
	Seconds float64 // of its time; 0: it is not known
	Share   float64 // of all of it
}

// mostNotices is how many are kept.
const mostNotices = 200

// change tells those who wait; the lock is held.
func (j *Job) change() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// State is how the job is.
func (j *Job) State() JobState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Runs are all runs of the job.
func (j *Job) Runs() []*plan.Run { return slices.Clone(j.runs) }

// Stop ends the job; what is finished is kept.
func (j *Job) Stop() {
	j.cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == Waiting {
		j.state, j.ended = Stopped, time.Now()
		j.change()
	}
}

// Changed is closed when something has changed.
func (j *Job) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// Status is how the job is, in all.
func (j *Job) Status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := Status{State: j.state, Begun: j.begun, Ended: j.ended, Far: j.far, Each: slices.Clone(j.each),
		Notices: slices.Clone(j.notices), Workers: j.workers, Outcome: j.out, Interrupted: j.ctx.Err() != nil}
	if j.err != nil {
		s.Error = j.err.Error()
	}
	for _, x := range j.films {
		s.HasFilms = append(s.HasFilms, x.run.Number)
		if j.each[j.at(x.run)] == RunGoing {
			seconds, share := x.now()
			s.Going = append(s.Going, Going{x.run.Number, seconds, share})
		}
	}
	for i, r := range j.runs {
		if share, is := j.shares[i]; is && j.each[i] == RunGoing {
			s.Going = append(s.Going, Going{Number: r.Number, Share: share})
		}
	}
	return s
}

// at is the index of a run in the job.
func (j *Job) at(r *plan.Run) int {
	if j.Single != nil {
		return 0
	}
	return r.Number
}

// Film is what there is of the film of a run, from a frame on if it is of that epoch; false: there is none.
func (j *Job) Film(number, epoch, from int) (Film, bool) {
	j.mu.Lock()
	i := slices.IndexFunc(j.films, func(x *recorder) bool { return x.run.Number == number })
	var x *recorder
	if i >= 0 {
		x = j.films[i]
	}
	j.mu.Unlock()
	if x == nil {
		return Film{}, false
	}
	return x.film(epoch, from), true
}

func (j *Job) begin() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != Waiting {
		return false
	}
	j.state, j.begun = Running, time.Now()
	j.change()
	return true
}

func (j *Job) end(o *results.Outcome, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out, j.err, j.ended = o, err, time.Now()
	switch {
	case err != nil:
		j.state = Failed
	case j.ctx.Err() != nil:
		j.state = Stopped
	default:
		j.state = Done
	}
	if o != nil {
		j.settle(o)
	}
	j.change()
	j.cancel()
}

// settle says of each run what the outcome has of it.
func (j *Job) settle(o *results.Outcome) {
	there := map[string]bool{}
	for _, r := range o.Runs {
		there[name(r.Seed, run.NameOf(&plan.Run{Seed: r.Seed, Point: r.Point}))] = true
	}
	for i, r := range j.runs {
		if j.each[i] == RunWaiting && there[name(r.Seed, run.NameOf(r))] {
			j.each[i] = RunThere
		}
	}
	if n := len(o.Failed); n > 0 && j.err == nil {
		first := o.Failed[0]
		j.err = fmt.Errorf("%s: %w", run.NameOf(&plan.Run{Seed: first.Seed, Point: first.Point}), first.Err)
		if n > 1 {
			j.err = fmt.Errorf("%d runs have failed; the first of them is %w", n, j.err)
		}
		j.state = Failed
	}
}

func name(seed uint64, run string) string { return strconv.FormatUint(seed, 10) + " " + run }

// progress notes how far the job is.
func (j *Job) progress(p run.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.far = p
	j.change()
}

// notice keeps what is told.
func (j *Job) notice(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.notices = append(j.notices, text); len(j.notices) > mostNotices {
		j.notices = slices.Delete(j.notices, 0, len(j.notices)-mostNotices)
	}
	j.change()
}

// sweep notes how the workers are.
func (j *Job) sweep(s Sweep) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.workers = &s
	j.change()
}

// mostOver is how many films of runs that are over a job keeps.
const mostOver = 12

// observe begins the film of a run.
func (j *Job) observe(r *plan.Run, c *sim.Config) run.Observer {
	x := newRecorder(r, c, j.over)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.films = append(j.films, x)
	over := 0
	for _, f := range j.films {
		if j.each[j.at(f.run)] != RunGoing {
			over++
		}
	}
	j.each[j.at(r)] = RunGoing
	j.films = slices.DeleteFunc(j.films, func(f *recorder) bool {
		if over > mostOver && f != x && j.each[j.at(f.run)] != RunGoing {
			over--
			return true
		}
		return false
	})
	j.change()
	return x
}

// over notes the end of a run.
func (j *Job) over(x *recorder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state := RunFinished
	switch {
	case x.err != nil && j.ctx.Err() != nil:
		state = RunStopped
	case x.err != nil:
		state = RunFailed
	}
	j.each[j.at(x.run)] = state
	j.change()
}

// filmed is what the films take.
func (j *Job) filmed() (bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range j.films {
		bytes += x.bytes()
	}
	return bytes
}

// forget drops the films, but for the last one of the latest job.
func (j *Job) forget(latest bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.films); latest && n > 0 {
		j.films = j.films[n-1:]
		return
	}
	j.films = nil
}
