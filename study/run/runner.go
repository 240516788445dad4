package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"weir/study/plan"
	"weir/study/results"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Work is an experiment of which runs are to be carried out in the simulator.
type Work struct {
	Spec       *spec.Spec
	Command    string // that asked for it
	Executable string // the program's part of every run's id
	Dir        string // of the results; "" if they are not kept
	Fresh      bool   // what is there already is carried out again
}

// Task is one of its runs.
type Task struct {
	Run  *plan.Run
	ID   string
	Hops float64 // packet-hops, about
}

// Runner is where the runs of an experiment are carried out, if not by the process that asks for them: by workers on
// other machines (study/run/jetstream), by a cluster (study/run/slurm). Execute keeps what it gives, and all else is as
// if it were here: what is there already is not asked for, what is finished is kept whatever ends the process, and a
// run's bytes are those of a local run.
type Runner interface {
	// Begin is told of the experiment, once, before the first run is handed over. The error ends the execution.
	Begin(ctx context.Context, w *Work) error
	// Room is how many runs are handed over at a time at most: more than there are workers, so that each has a next one.
	Room() int
	// Carry hands over a run, of several at a time those with most packet-hops first, and returns what it gives:
	// results.Run.Json(true). It tells how far the run is. An error is the run's own, unless ctx has ended, or it is
	// ErrLeft or a LostError: then nothing more can be carried out.
	Carry(ctx context.Context, t Task, far func(packetHops uint64, share float64)) ([]byte, error)
	// Settle is called when all that were handed over have come back, and once more for those that it makes do so. It
	// waits until the runner trusts what it has given, and returns the ids of what it does not any more: Execute discards
	// those, also ones of an execution before, and hands them over again. When ctx ends it returns what it knows.
	Settle(ctx context.Context) (withdrawn []string, err error)
	// End is called once when no run is handed over any more, also after an error of Begin.
	End() error
}

// ErrLeft is the error of a Runner about a run that was not carried out, for a reason that is not the run's: it is
// missing, and the same command goes on with it.
var ErrLeft = errors.New("it was not carried out")

// LostError says that nothing more can be carried out, whichever run.
func LostError(err error) error { return lostError{err} }

// One carries out a run in the simulator with so many threads, and returns what a file of the run has
// (results.Run.Json(true)). A panic of a scheme is an error. When ctx ends, the error is ctx's.
func One(ctx context.Context, r *plan.Run, executable string, threads int, far func(packetHops uint64,
	share float64)) ([]byte, error) {
	progress := func(p sim.Progress, share float64) {
		if far != nil {
			far(p.PacketHops, share)
		}
	}
	run, err := carryOut(ctx, r, &Options{Executable: executable, Threads: threads}, nil, threads, progress)
	if ctx.Err() != nil && run == nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return run.Json(true), nil
}

// elsewhere has the runner carry out a run, and checks that what it gives is that run's.
func (x *execution) elsewhere(ctx context.Context, i int, progress howFar) (*results.Run, error) {
	t := Task{Run: x.runs[i], ID: x.o.id(x.runs[i]), Hops: plan.Estimate(x.runs[i])}
	data, err := x.o.Runner.Carry(ctx, t, func(hops uint64, share float64) {
		progress(sim.Progress{PacketHops: hops}, share)
	})
	if errors.Is(err, ErrLeft) || ctx.Err() != nil && err != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	run, err := results.Vouched(data, x.runs[i], t.ID)
	if err != nil {
		return nil, fmt.Errorf("what came back is not the run's: %w", err)
	}
	return run, nil
}

// largestFirst orders runs by their packet-hops.
func (x *execution) largestFirst(todo []int) []int {
	hops := make(map[int]float64, len(todo))
	for _, i := range todo {
		hops[i] = plan.Estimate(x.runs[i])
	}
	todo = slices.Clone(todo)
	slices.SortStableFunc(todo, func(a, b int) int { return cmp.Compare(hops[b], hops[a]) })
	return todo
}

// beginElsewhere tells the runner of the experiment.
func (x *execution) beginElsewhere(ctx context.Context) error {
	return x.o.Runner.Begin(ctx, &Work{Spec: x.out.Spec, Command: x.o.Command, Executable: x.o.Executable,
		Dir: x.out.Dir, Fresh: x.o.Fresh})
}

// settled waits until the runner trusts what it has given, and returns which runs are to be carried out again.
func (x *execution) settled(ctx context.Context) (again []int, err error) {
	if x.o.Runner == nil {
		return nil, nil
	}
	withdrawn, err := x.o.Runner.Settle(ctx)
	again = x.discard(withdrawn)
	return slices.DeleteFunc(again, func(i int) bool { return x.seed(i) >= x.seeds }), err // later seeds may never count
}

// discard takes away runs that a runner does not trust any more, and returns which they are.
func (x *execution) discard(ids []string) (again []int) {
	if len(ids) == 0 {
		return nil
	}
	for i, r := range x.runs {
		if id := x.o.id(r); slices.Contains(ids, id) {
			x.all[i], x.before[i], x.found[i], x.files[i], x.failures[i] = nil, nil, false, nil, nil
			if x.out.Dir != "" {
				os.Remove(results.RunFile(x.out.Dir, id)) // what is left there is found to be damaged, or written over
			}
			again = append(again, i)
		}
	}
	return again
}
