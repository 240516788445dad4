package live

import (
	"context"
	"errors"

	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// observedRunner is a runner that reports the states of its runs to a job. Such runs have no observer here.
type observedRunner struct {
	run.Runner
	job *Job
}

// ExecuteRun runs a task and updates the state of its run in the job. It passes the progress on to report.
func (c observedRunner) ExecuteRun(ctx context.Context, t run.Task,
	report func(packetHops uint64, share float64)) ([]byte, error) {
	c.job.setRunState(t.Run, RunWaiting, 0) // again, if the result was found to be wrong
	data, err := c.Runner.ExecuteRun(ctx, t, func(hops uint64, share float64) {
		c.job.setRunState(t.Run, RunGoing, share)
		report(hops, share)
	})
	state := RunFinished
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, run.ErrNotExecuted)):
		state = RunStopped
	case err != nil:
		state = RunFailed
	}
	c.job.setRunState(t.Run, state, 0)
	return data, err
}

// ReportExecutions returns the account of the runner if it keeps one; nil otherwise.
func (c observedRunner) ReportExecutions(dir string, interrupted bool) []results.Execution {
	if a, is := c.Runner.(run.Accountant); is {
		return a.ReportExecutions(dir, interrupted)
	}
	return nil
}

// setRunState sets the state and progress of a run of another machine, and wakes the waiters on Changed. It ignores
// late progress of a finished run, and takes a stop before the start as waiting.
func (j *Job) setRunState(r *plan.Run, state RunState, share float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := j.runIndex(r)
	if state == RunGoing && (j.runStates[i] == RunFinished || j.runStates[i] == RunFailed) {
		return // progress that was sent before the result arrived
	}
	if state == RunStopped && j.runStates[i] != RunGoing {
		state = RunWaiting // the run had not begun
	}
	if j.runStates[i] = state; state == RunGoing {
		if j.shares == nil {
			j.shares = map[int]float64{}
		}
		j.shares[i] = share
	} else {
		delete(j.shares, i)
	}
	j.notifyChange()
}
