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

// JobState is the state of a job.
type JobState string

// States of jobs.
const (
	Waiting JobState = "waiting"
	Running JobState = "running"
	Done    JobState = "done"
	Stopped JobState = "stopped"
	Failed  JobState = "failed"
)

// Over reports whether the job has ended.
func (s JobState) Over() bool { return s == Done || s == Stopped || s == Failed }

// RunState is the state of a run of a job.
type RunState string

// States of runs. RunExisting means that the results existed before the job.
const (
	RunWaiting  RunState = ""
	RunGoing    RunState = "running"
	RunFinished RunState = "finished"
	RunExisting RunState = "reused"
	RunFailed   RunState = "failed"
	RunStopped  RunState = "stopped"
)

// Job is an experiment or a single run in the queue of a Manager. Its methods may be called concurrently.
type Job struct {
	ID      int
	Spec    *experiment.Spec
	Command string
	Single  *plan.Run // run only this one and keep no results; nil: the whole experiment
	Asked   time.Time
	// Elsewhere reports whether workers execute the runs; these have no films.
	Elsewhere bool

	traces []string
	runs   []*plan.Run
	ctx    context.Context
	cancel context.CancelFunc

	jobState
}

// jobState is the part of a job that changes while it runs, protected by mu.
type jobState struct {
	mu        sync.Mutex
	state     JobState
	begun     time.Time
	ended     time.Time
	progress  run.Progress
	runStates []RunState
	films     []*recorder     // of running and finished runs, in the order of their starts
	shares    map[int]float64 // progress of runs at workers, by index
	notices   []string
	workers   *WorkersStatus
	outcome   *results.Outcome
	err       error
	changed   chan struct{} // closed at the next change
}

// Status is a snapshot of a job.
type Status struct {
	State       JobState
	Begun       time.Time
	Ended       time.Time
	Far         run.Progress
	RunStates   []RunState // by run
	Going       []RunProgress
	Notices     []string
	Workers     *WorkersStatus
	Outcome     *results.Outcome // at the end; nil without results
	Error       string
	HasFilms    []int // numbers of runs with films
	Interrupted bool
}

// RunProgress is a run in progress.
type RunProgress struct {
	Number  int
	Seconds float64 // simulated time; 0: not known
	Share   float64 // progress, 0 … 1
}

// maxNotices limits the notices that a job keeps.
const maxNotices = 200

// notifyChange wakes the waiters on Changed. The caller holds the lock.
func (j *Job) notifyChange() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// State returns the current state of the job.
func (j *Job) State() JobState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Runs returns all runs of the job.
func (j *Job) Runs() []*plan.Run { return slices.Clone(j.runs) }

// Stop ends the job and keeps finished runs. It does not wait for the end. A waiting job is stopped at once.
func (j *Job) Stop() {
	j.cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == Waiting {
		j.state, j.ended = Stopped, time.Now()
		j.notifyChange()
	}
}

// Changed returns a channel that is closed at the next change. The caller takes a new one after each change, before it
// reads the status.
func (j *Job) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// Status returns a snapshot of the job.
func (j *Job) Status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := Status{State: j.state, Begun: j.begun, Ended: j.ended, Far: j.progress, RunStates: slices.Clone(j.runStates),
		Notices: slices.Clone(j.notices), Workers: j.workers, Outcome: j.outcome, Interrupted: j.ctx.Err() != nil}
	if j.err != nil {
		s.Error = j.err.Error()
	}
	for _, x := range j.films {
		s.HasFilms = append(s.HasFilms, x.run.Number)
		if j.runStates[j.runIndex(x.run)] == RunGoing {
			seconds, share := x.latestTime()
			s.Going = append(s.Going, RunProgress{x.run.Number, seconds, share})
		}
	}
	for i, r := range j.runs {
		if share, is := j.shares[i]; is && j.runStates[i] == RunGoing {
			s.Going = append(s.Going, RunProgress{Number: r.Number, Share: share})
		}
	}
	return s
}

// runIndex returns the index of a run in the job: the run's number, or 0 for a single run.
func (j *Job) runIndex(r *plan.Run) int {
	if j.Single != nil {
		return 0
	}
	return r.Number
}

// Film returns the film of the run with the given number, from frame from on, or from the start if epoch is not the
// current one; false if it has no film. An epoch of −1 returns all frames.
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
	return x.copyFilm(epoch, from), true
}

// setBegun marks a waiting job as running; it returns false for another state.
func (j *Job) setBegun() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != Waiting {
		return false
	}
	j.state, j.begun = Running, time.Now()
	j.notifyChange()
	return true
}

// setEnded stores the outcome and sets the final state of the job: Failed with an error or a failed run, Stopped if it
// was stopped, else Done. It also marks the runs with results in the outcome, which may be nil, cancels the job's
// context and wakes waiters.
func (j *Job) setEnded(o *results.Outcome, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outcome, j.err, j.ended = o, err, time.Now()
	switch {
	case err != nil:
		j.state = Failed
	case j.ctx.Err() != nil:
		j.state = Stopped
	default:
		j.state = Done
	}
	if o != nil {
		j.settleRuns(o)
	}
	j.notifyChange()
	j.cancel()
}

// settleRuns marks waiting runs with existing results. If runs failed, it takes the first one's error as the job's and
// sets the state Failed. The caller holds the lock.
func (j *Job) settleRuns(o *results.Outcome) {
	there := map[string]bool{}
	for _, r := range o.Runs {
		there[runKey(r.Seed, run.FormatRunName(&plan.Run{Seed: r.Seed, Point: r.Point}))] = true
	}
	for i, r := range j.runs {
		if j.runStates[i] == RunWaiting && there[runKey(r.Seed, run.FormatRunName(r))] {
			j.runStates[i] = RunExisting
		}
	}
	if n := len(o.Failed); n > 0 && j.err == nil {
		first := o.Failed[0]
		j.err = fmt.Errorf("%s: %w", run.FormatRunName(&plan.Run{Seed: first.Seed, Point: first.Point}), first.Err)
		if n > 1 {
			j.err = fmt.Errorf("%d runs have failed; the first of them is %w", n, j.err)
		}
		j.state = Failed
	}
}

// runKey identifies a run by its seed and name.
func runKey(seed uint64, run string) string { return strconv.FormatUint(seed, 10) + " " + run }

// setProgress stores the progress of the job and wakes those that wait for a change.
func (j *Job) setProgress(p run.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress = p
	j.notifyChange()
}

// addNotice adds a notice, drops the oldest one beyond maxNotices, and wakes those that wait for a change.
func (j *Job) addNotice(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.notices = append(j.notices, text); len(j.notices) > maxNotices {
		j.notices = slices.Delete(j.notices, 0, len(j.notices)-maxNotices)
	}
	j.notifyChange()
}

// setWorkers stores the state of the workers and wakes those that wait for a change.
func (j *Job) setWorkers(s WorkersStatus) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.workers = &s
	j.notifyChange()
}

// maxOverFilms limits the films of finished runs that a job keeps.
const maxOverFilms = 12

// startFilm starts the film of a run and marks the run as running, which wakes those that wait for a change. It drops
// the oldest films of finished runs beyond maxOverFilms. The returned observer records the run.
func (j *Job) startFilm(r *plan.Run, c *sim.Config) run.Observer {
	x := newRecorder(r, c, j.endRun)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.films = append(j.films, x)
	over := 0
	for _, f := range j.films {
		if j.runStates[j.runIndex(f.run)] != RunGoing {
			over++
		}
	}
	j.runStates[j.runIndex(r)] = RunGoing
	j.films = slices.DeleteFunc(j.films, func(f *recorder) bool {
		if over > maxOverFilms && f != x && j.runStates[j.runIndex(f.run)] != RunGoing {
			over--
			return true
		}
		return false
	})
	j.notifyChange()
	return x
}

// endRun sets the final state of the run of recorder x, which has ended: stopped, failed or finished. It wakes those
// that wait for a change.
func (j *Job) endRun(x *recorder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state := RunFinished
	switch {
	case x.err != nil && j.ctx.Err() != nil:
		state = RunStopped
	case x.err != nil:
		state = RunFailed
	}
	j.runStates[j.runIndex(x.run)] = state
	j.notifyChange()
}

// filmBytes returns the approximate memory of all films of the job.
func (j *Job) filmBytes() (bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range j.films {
		bytes += x.memoryBytes()
	}
	return bytes
}

// dropFilms drops all films of the job. With latest, it keeps the film that started last.
func (j *Job) dropFilms(latest bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.films); latest && n > 0 {
		j.films = j.films[n-1:]
		return
	}
	j.films = nil
}
