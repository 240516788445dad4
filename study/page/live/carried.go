package live

import (
	"context"
	"errors"

	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// carried is a runner that tells a job how its runs are: nobody here looks on at them.
type carried struct {
	run.Runner
	job *Job
}

// Carry hands over a run.
func (c carried) Carry(ctx context.Context, t run.Task, far func(packetHops uint64, share float64)) ([]byte, error) {
	c.job.told(t.Run, RunWaiting, 0) // also again, where what came back was found to be wrong
	data, err := c.Runner.Carry(ctx, t, func(hops uint64, share float64) {
		c.job.told(t.Run, RunGoing, share)
		far(hops, share)
	})
	state := RunFinished
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, run.ErrLeft)):
		state = RunStopped
	case err != nil:
		state = RunFailed
	}
	c.job.told(t.Run, state, 0)
	return data, err
}

// Account says what has happened, if the runner does.
func (c carried) Account(dir string, interrupted bool) []results.Execution {
	if a, is := c.Runner.(run.Accountant); is {
		return a.Account(dir, interrupted)
	}
	return nil
}

// told notes how a run is that others carry out.
func (j *Job) told(r *plan.Run, state RunState, share float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := j.at(r)
	if state == RunGoing && (j.each[i] == RunFinished || j.each[i] == RunFailed) {
		return // news that was on its way when the result came
	}
	if state == RunStopped && j.each[i] != RunGoing {
		state = RunWaiting // nobody has begun it
	}
	if j.each[i] = state; state == RunGoing {
		if j.shares == nil {
			j.shares = map[int]float64{}
		}
		j.shares[i] = share
	} else {
		delete(j.shares, i)
	}
	j.change()
}
