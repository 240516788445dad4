package slurm

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/atomicfile"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// Carry carries out the runs of a task that are not there yet, one after the other, and keeps what each gives when it
// is finished, so that whatever ends the task leaves that. It tells of each. What a run fails of is kept, too, and the
// rest goes on; failed says how many did. When ctx ends, so does the run under way, and the error is ctx's.
func (f *Folder) Carry(ctx context.Context, task, threads int, say func(text string)) (failed int, err error) {
	if task < 0 || task >= len(f.Job.Tasks) {
		return 0, fmt.Errorf("there is no task %d: %s has 0 … %d", task, f.Dir, len(f.Job.Tasks)-1)
	}
	sayHost(say)
	for _, id := range f.Job.Tasks[task] {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		r := f.runs[id]
		what := fmt.Sprintf("run %s (%s, seed %d)", id, measure.PointName(r.Point), r.Seed)
		if f.result(id) != nil {
			say(what + " is there already")
			continue
		}
		err := f.carry(ctx, r, id, threads)
		var ofRun runError
		switch {
		case err == atomicfile.ErrTaken:
			say(what + " is left to the process that carries it out already")
		case errors.As(err, &ofRun):
			failed++
			say(what + " failed: " + ofRun.Error())
			if err := results.WriteFile(f.failureFile(id), []byte(ofRun.Error()+"\n")); err != nil {
				return failed, err
			}
		case err != nil:
			return failed, err
		default:
			say(what + " is finished")
		}
	}
	return failed, nil
}

// runError is the error of a run, and not of what is around it.
type runError struct{ error }

// carry carries out one run and keeps what it gives.
func (f *Folder) carry(ctx context.Context, r *plan.Run, id string, threads int) error {
	claim, err := results.ClaimRun(f.Dir, id)
	if err != nil {
		return err
	}
	defer claim.Discard()
	data, err := run.One(ctx, r, f.Job.Executable, threads, nil)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	if err != nil {
		return runError{err}
	}
	err = claim.Keep(data)
	atomicfile.Remove(f.failureFile(id)) // an earlier failure
	return err
}
