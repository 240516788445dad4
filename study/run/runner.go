package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"weir/core/trace"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/sim"
)

// Work is an experiment of which runs are to be carried out in the simulator.
type Work struct {
	Spec       *experiment.Spec
	Command    string // that asked for it
	Executable string // the program's part of every run's id
	Dir        string // of the results; "" if they are not kept
	Fresh      bool   // what is there already is carried out again

	// Trace are ports, or patterns, of which every run leaves a trace: then Carry returns what Traced does. Only a
	// traceRunner is asked for that.
	Trace   []string
	Tracing Tracing
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
	// VerifyResults is called when all runs that were handed over have come back, and again for those that it returns.
	// It waits until the runner trusts its results, and returns the ids of runs that it no longer trusts. Execute
	// discards those, also ones of an earlier execution, and hands them over again. When ctx ends, it returns the ids
	// found so far.
	VerifyResults(ctx context.Context) (withdrawn []string, err error)
	// End is called once when no run is handed over any more, also after an error of Begin.
	End() error
}

// traceRunner is a Runner that may deliver the traces of runs. A Runner without it delivers none.
type traceRunner interface {
	// Traces reports whether Carry returns the traces of a run, too.
	Traces() bool
}

// suits refuses what the runner that is wanted cannot carry out.
func (o *Options) suits(s *experiment.Spec) error {
	tracer, ok := o.Runner.(traceRunner)
	traces := ok && tracer.Traces()
	switch {
	case o.Runner == nil:
	case o.Lab != nil:
		return errors.New("runs of the lab are carried out here: no runner can")
	case len(o.Trace) > 0 && !traces:
		return errors.New("this runner leaves no traces: they stay on the machine that makes them")
	case len(o.Trace) > 0 && s.TraceQuota() == 0:
		c := document.NewReader(experiment.FileKind)
		file, _ := s.Text()
		c.Fail(document.Position{File: file, Line: 1, Column: 1},
			"trace_quota: 100 MB, as a key of the experiment or by --set",
			"its traces have no bound, and who carries out runs for others has only so much room")
		return c.Err()
	}
	return nil
}

// Accountant is a Runner that says what happened, for host.json and `weir report`. Execute asks when no run is handed
// over any more, before End, and also where none had to be, without Begin: a process that was killed may have left word
// in the folder of the results. Of an execution that was there before what is said last counts. Interrupted is whether
// this one was.
type Accountant interface {
	Account(dir string, interrupted bool) []results.Execution
}

// ErrLeft is the error of a Runner about a run that was not carried out, for a reason that is not the run's: it is
// missing, and the same command goes on with it.
var ErrLeft = errors.New("it was not carried out")

// LostError says that nothing more can be carried out, whichever run.
func LostError(err error) error { return lostError{err} }

// One carries out a run in the simulator with so many threads at most, and with one for as long as that is faster:
// others on the machine may have the cores. It returns what a file of the run has (results.Run.Json(true)). A panic
// of a scheme is an error. When ctx ends, the error is ctx's.
func One(ctx context.Context, r *plan.Run, executable string, threads int, far func(packetHops uint64,
	share float64)) ([]byte, error) {
	return Traced(ctx, r, nil, nil, executable, threads, far)
}

// Traced is One for a run of which a trace of ports is wanted (TracePorts), if there are any: then it returns a bundle
// of the run and the trace's files, which Received reads. It keeps them in memory until then.
func Traced(ctx context.Context, r *plan.Run, ports []trace.Port, tracing *Tracing, executable string, threads int,
	far func(packetHops uint64, share float64)) ([]byte, error) {
	progress := func(p sim.Progress, share float64) {
		if far != nil {
			far(p.PacketHops, share)
		}
	}
	t := newTracer(inMemory, r.ID(executable), ports, tracing, r.Spec.TraceQuota())
	if t != nil {
		t.keeps = true
	}
	run, err := carryOut(ctx, r, &Options{Executable: executable}, t, threads, progress)
	if ctx.Err() != nil && run == nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return t.bundle(run.Json(true))
}

// Again carries out a run once more, or for the first time, for those who look on: it keeps nothing. When ctx ends, the
// error is ctx's.
func Again(ctx context.Context, r *plan.Run, executable string, observe func(*plan.Run, *sim.Config) Observer) (
	*results.Run, error) {
	o := &Options{Executable: executable, Observe: observe}
	run, err := carryOut(ctx, r, o, nil, o.threads(1), func(sim.Progress, float64) {})
	if ctx.Err() != nil && run == nil {
		return nil, ctx.Err()
	}
	return run, err
}

// elsewhere has the runner carry out a run, and checks that what it gives is that run's.
func (x *execution) elsewhere(ctx context.Context, i int, t *tracer, progress howFar) (*results.Run, error) {
	task := Task{Run: x.runs[i], ID: x.o.id(x.runs[i]), Hops: plan.Estimate(x.runs[i])}
	data, err := x.o.Runner.Carry(ctx, task, func(hops uint64, share float64) {
		progress(sim.Progress{PacketHops: hops}, share)
	})
	if errors.Is(err, ErrLeft) || ctx.Err() != nil && err != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	run, files, err := Received(data, x.runs[i], task.ID, x.ports[x.runs[i].Index], &x.o.Tracing)
	if err != nil {
		return nil, fmt.Errorf("what came back is not the run's: %w", err)
	}
	if t != nil {
		t.given = files
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
		Dir: x.out.Dir, Fresh: x.o.Fresh, Trace: x.o.Trace, Tracing: x.o.Tracing})
}

// settled waits until the runner trusts what it has given, and returns which runs are to be carried out again.
func (x *execution) settled(ctx context.Context) (again []int, err error) {
	if x.o.Runner == nil {
		return nil, nil
	}
	withdrawn, err := x.o.Runner.VerifyResults(ctx)
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
				atomicfile.Remove(results.RunFile(x.out.Dir, id)) // what is left there is found to be damaged, or written over
				atomicfile.Remove(filepath.Join(x.out.Dir, "traces", id+results.TraceDigests))
			}
			again = append(again, i)
		}
	}
	return again
}

// withSpace writes something. What others have made waits when the disk is full: here it would be lost with all that
// is under way elsewhere.
func (x *execution) withSpace(ctx context.Context, write func() error) error {
	for {
		err := write()
		if x.o.Runner == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			if err == nil && x.full.Swap(false) {
				x.notice(fmt.Sprintf("%s has space again: it goes on", x.out.Dir))
			}
			return err
		}
		if !x.full.Swap(true) {
			x.notice(fmt.Sprintf("the disk of %s is full: what comes back waits for space", x.out.Dir))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookAgain):
		}
	}
}

func (x *execution) notice(text string) {
	if x.o.OnNotice != nil {
		x.telling.Lock()
		defer x.telling.Unlock()
		x.o.OnNotice(text)
	}
}
