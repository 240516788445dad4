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

// Work is an experiment for a Runner that executes its runs in the simulator.
type Work struct {
	Spec       *experiment.Spec
	Command    string // command line that started it
	Executable string // the program's part of every run's id
	Dir        string // of the results; "": results are not kept
	Fresh      bool   // execute runs again that have results

	// Trace are ports, or patterns, that every run traces. ExecuteRun then returns the result of SimulateTraced. It is
	// empty unless the runner is a traceRunner.
	Trace   []string
	Tracing Tracing
}

// Task is one run of a Work.
type Task struct {
	Run  *plan.Run
	ID   string
	Hops float64 // estimated packet-hops
}

// Runner executes the runs of an experiment outside of this process: on workers of other machines
// (study/run/jetstream) or on a cluster (study/run/slurm). Execute keeps its results as those of local runs: it hands
// over only runs without results, keeps finished runs if it is killed, and gets the same bytes as from a local run.
type Runner interface {
	// Begin starts the execution of an experiment, once, before the first run is handed over. An error ends the
	// execution.
	Begin(ctx context.Context, w *Work) error
	// MaxRuns returns the number of runs that are handed over at a time. It exceeds the number of workers, so that each
	// has a next run.
	MaxRuns() int
	// ExecuteRun executes a run and returns its results.Run.EncodeJSON(true). It is called concurrently, for runs with
	// more packet-hops first. It calls report with the run's progress. An error is the run's own, unless ctx has ended,
	// the run was not executed (ErrNotExecuted), or no further run can be executed (LostError).
	ExecuteRun(ctx context.Context, t Task, report func(packetHops uint64, share float64)) ([]byte, error)
	// VerifyResults is called when all runs that were handed over have returned, and again after the runs that it
	// returns. It waits until the runner trusts its results, and returns the ids of runs that it no longer trusts.
	// Execute discards those, also runs of an earlier execution, and hands them over again. If ctx ends, it returns the
	// ids found so far.
	VerifyResults(ctx context.Context) (withdrawn []string, err error)
	// Close is called once after the last run, also after an error of Begin.
	Close() error
}

// traceRunner is a Runner that may return the traces of runs. Other runners return no traces.
type traceRunner interface {
	// Traces reports whether ExecuteRun also returns the traces of a run.
	Traces() bool
}

// checkRunner returns an error if the runner cannot execute the experiment with these options.
func (o *Options) checkRunner(s *experiment.Spec) error {
	tracer, ok := o.Runner.(traceRunner)
	traces := ok && tracer.Traces()
	switch {
	case o.Runner == nil:
	case o.Lab != nil:
		return errors.New("runs of the lab need this machine; remove the runner")
	case len(o.Trace) > 0 && !traces:
		return errors.New("this runner cannot trace, because traces stay on the machine that writes them; run without a " +
			"trace, or locally")
	case len(o.Trace) > 0 && s.TraceQuota() == 0:
		c := document.NewReader(experiment.FileKind)
		file, _ := s.Text()
		c.Fail(document.Position{File: file, Line: 1, Column: 1},
			"trace_quota: 100 MB, as a key of the experiment or by --set",
			"the size of its traces has no limit, but workers have limited disk space")
		return c.Err()
	}
	return nil
}

// Accountant is a Runner with accounts of its executions, for host.json and `weir report`. Execute calls
// ReportExecutions after the last run and before Close. It also calls it without Begin if no run was needed, since a
// killed process may have left an account in the results folder. The latest account of an execution counts. The
// argument interrupted reports whether this execution was interrupted.
type Accountant interface {
	ReportExecutions(dir string, interrupted bool) []results.Execution
}

// ErrNotExecuted is the error of a Runner for a run that was not executed for a reason outside the run. The run is
// missing, and the same command executes it later.
var ErrNotExecuted = errors.New("it was not executed")

// LostError returns an error of a Runner that cannot execute any further run.
func LostError(err error) error { return lostError{err} }

// SimulateRun executes a run in the simulator with up to the given number of threads, and with one thread while that is
// faster: other processes may use the cores. The argument executable is the program's part of the run's id. The
// function report receives the progress; it may be nil. SimulateRun returns the contents of the run's file
// (results.Run.EncodeJSON(true)). A panic of a scheme is an error. If ctx ends, the error is ctx's.
func SimulateRun(ctx context.Context, r *plan.Run, executable string, threads int, report func(packetHops uint64,
	share float64)) ([]byte, error) {
	return SimulateTraced(ctx, r, nil, nil, executable, threads, report)
}

// SimulateTraced works as SimulateRun, and traces the marked ports of the run (TracePorts) by tracing. With a marked
// port it returns a bundle of the run and its trace files for DecodeResult, and keeps the files in memory until then.
// Without one, tracing may be nil.
func SimulateTraced(ctx context.Context, r *plan.Run, ports []trace.Port, tracing *Tracing, executable string,
	threads int,
	report func(packetHops uint64, share float64)) ([]byte, error) {
	progress := func(p sim.Progress, share float64) {
		if report != nil {
			report(p.PacketHops, share)
		}
	}
	t := newTracer(inMemory, r.ID(executable), ports, tracing, r.Spec.TraceQuota())
	if t != nil {
		t.keeps = true
	}
	run, err := executeRun(ctx, r, &Options{Executable: executable}, t, threads, progress)
	if ctx.Err() != nil && run == nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return t.packBundle(run.EncodeJSON(true))
}

// RepeatRun executes a run in the simulator with observers and returns its result without keeping it. It writes no
// trace. If ctx ends, the error is ctx's.
func RepeatRun(ctx context.Context, r *plan.Run, executable string, observe func(*plan.Run, *sim.Config) Observer) (
	*results.Run, error) {
	o := &Options{Executable: executable, Observe: observe}
	run, err := executeRun(ctx, r, o, nil, o.threadsPerRun(1), func(sim.Progress, float64) {})
	if ctx.Err() != nil && run == nil {
		return nil, ctx.Err()
	}
	return run, err
}

// executeElsewhere has the runner execute run i, and checks that the result belongs to it. It stores the returned trace
// files in t. It returns errInterrupted if ctx ended or the run was not executed.
func (x *execution) executeElsewhere(ctx context.Context, i int, t *tracer,
	progress progressFunc) (*results.Run, error) {
	task := Task{Run: x.runs[i], ID: x.o.runID(x.runs[i]), Hops: plan.EstimateHops(x.runs[i])}
	data, err := x.o.Runner.ExecuteRun(ctx, task, func(hops uint64, share float64) {
		progress(sim.Progress{PacketHops: hops}, share)
	})
	if errors.Is(err, ErrNotExecuted) || ctx.Err() != nil && err != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	run, files, err := DecodeResult(data, x.runs[i], task.ID, x.ports[x.runs[i].Index], &x.o.Tracing)
	if err != nil {
		return nil, fmt.Errorf("the returned result does not belong to the run: %w", err)
	}
	if t != nil {
		t.given = files
	}
	return run, nil
}

// largestFirst returns the runs sorted by estimated packet-hops, the largest first.
func (x *execution) largestFirst(todo []int) []int {
	hops := make(map[int]float64, len(todo))
	for _, i := range todo {
		hops[i] = plan.EstimateHops(x.runs[i])
	}
	todo = slices.Clone(todo)
	slices.SortStableFunc(todo, func(a, b int) int { return cmp.Compare(hops[b], hops[a]) })
	return todo
}

// beginElsewhere starts the runner.
func (x *execution) beginElsewhere(ctx context.Context) error {
	return x.o.Runner.Begin(ctx, &Work{Spec: x.out.Spec, Command: x.o.Command, Executable: x.o.Executable,
		Dir: x.out.Dir, Fresh: x.o.Fresh, Trace: x.o.Trace, Tracing: x.o.Tracing})
}

// awaitVerified waits until the runner trusts its results. It discards the results that the runner withdraws, with
// their files, and returns the runs that have to be executed again. Without a runner it has no effect.
func (x *execution) awaitVerified(ctx context.Context) (again []int, err error) {
	if x.o.Runner == nil {
		return nil, nil
	}
	withdrawn, err := x.o.Runner.VerifyResults(ctx)
	again = x.discardRuns(withdrawn)
	// later seeds may never count
	return slices.DeleteFunc(again, func(i int) bool { return x.seedIndex(i) >= x.seeds }), err
}

// discardRuns removes the results of the runs with the given ids, with their files and the digests of their traces. It
// returns these runs.
func (x *execution) discardRuns(ids []string) (again []int) {
	if len(ids) == 0 {
		return nil
	}
	for i, r := range x.runs {
		if id := x.o.runID(r); slices.Contains(ids, id) {
			x.all[i], x.before[i], x.found[i], x.files[i], x.failures[i] = nil, nil, false, nil, nil
			if x.out.Dir != "" {
				// a file that cannot be removed is damaged, or is overwritten later
				atomicfile.Remove(results.RunFile(x.out.Dir, id))
				atomicfile.Remove(filepath.Join(x.out.Dir, "traces", id+results.TraceDigests))
			}
			again = append(again, i)
		}
	}
	return again
}

// withSpace calls write again while the disk is full and a runner has results, until ctx ends. Without the retries, all
// runs in flight elsewhere would be lost. It issues notices when the disk becomes full and when it has space again.
func (x *execution) withSpace(ctx context.Context, write func() error) error {
	for {
		err := write()
		if x.o.Runner == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			if err == nil && x.diskFull.Swap(false) {
				x.issueNotice(fmt.Sprintf("%s has disk space again; the sweep continues", x.out.Dir))
			}
			return err
		}
		if !x.diskFull.Swap(true) {
			x.issueNotice(fmt.Sprintf("the disk of %s is full; results wait for free space", x.out.Dir))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookAgain):
		}
	}
}

// issueNotice passes a notice to Options.OnNotice. It is safe for concurrent use.
func (x *execution) issueNotice(text string) {
	if x.o.OnNotice != nil {
		x.noticeLock.Lock()
		defer x.noticeLock.Unlock()
		x.o.OnNotice(text)
	}
}
