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

// ExecuteTask executes the missing runs of a task one after the other, and stores each result or error as soon as it is
// available. It passes a line for each run to report, and returns the number of failed runs. It skips runs that another
// process executes. If ctx ends, it stops the run in flight and returns ctx's error. An unknown task is an error.
func (f *Folder) ExecuteTask(ctx context.Context, task, threads int, report func(text string)) (failed int, err error) {
	if task < 0 || task >= len(f.Job.Tasks) {
		return 0, fmt.Errorf("there is no task %d; %s has tasks 0 to %d", task, f.Dir, len(f.Job.Tasks)-1)
	}
	printHost(report)
	for _, id := range f.Job.Tasks[task] {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		r := f.runs[id]
		what := fmt.Sprintf("run %s (%s, seed %d)", id, measure.PointName(r.Point), r.Seed)
		if f.readResult(id) != nil {
			report(what + " was executed earlier")
			continue
		}
		err := f.executeRun(ctx, r, id, threads)
		var ofRun runError
		switch {
		case err == atomicfile.ErrTaken:
			report(what + " is skipped, because another process executes it")
		case errors.As(err, &ofRun):
			failed++
			report(what + " failed: " + ofRun.Error())
			if err := results.WriteFile(f.failureFile(id), []byte(ofRun.Error()+"\n")); err != nil {
				return failed, err
			}
		case err != nil:
			return failed, err
		default:
			report(what + " is finished")
		}
	}
	return failed, nil
}

// runError is an error of the run itself, not of its environment.
type runError struct{ error }

// executeRun executes one run, stores its result and removes an earlier failure. It returns atomicfile.ErrTaken if
// another process executes the run, a runError for a failed run, and ctx's error if ctx ends.
func (f *Folder) executeRun(ctx context.Context, r *plan.Run, id string, threads int) error {
	claim, err := results.ClaimRun(f.Dir, id)
	if err != nil {
		return err
	}
	defer claim.Discard()
	data, err := run.SimulateRun(ctx, r, f.Job.Executable, threads, nil)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	if err != nil {
		return runError{err}
	}
	err = claim.Keep(data)
	atomicfile.Remove(f.failureFile(id)) // remove an earlier failure
	return err
}
