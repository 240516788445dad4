package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/sim"
)

// Options configure the execution of an experiment.
type Options struct {
	Jobs int // concurrent runs; below 1: one per core
	// Threads is the number of threads of a run in the simulator. 0: the cores divided by the concurrent runs, and one
	// thread while that is faster.
	Threads    int
	Dir        string // parent of the results folder; "": write no results
	Fresh      bool   // execute runs again that have results
	Executable string // revision.Executable of the program, part of every run's id
	Command    string // command line, for the report
	OnProgress func(Progress)
	// OnNotice is called for damaged results, which are computed again, and for runs that another process executes.
	OnNotice func(text string)
	// Report writes further files on the outcome into its folder, under the folder's lock.
	Report func(*results.Outcome) error
	Runner Runner   // executes the runs of the simulator elsewhere; nil: in this process
	Trace  []string // ports, or patterns with *, that every run traces; needs Dir; not for the lab
	// Tracing configures the traces.
	Tracing Tracing
	Lab     *Lab
	// Observe, if not nil, is called before each run that this process simulates, with its configuration. It may be
	// called concurrently. Observers do not affect results.
	Observe func(r *plan.Run, c *sim.Config) Observer

	clock func() time.Time // for progress reports; nil: time.Now
}

// worldName returns the world in which the runs execute.
func (o *Options) worldName() string {
	if o.Lab != nil {
		return experiment.Lab
	}
	return experiment.Sim
}

// runID returns the id of a run's result.
func (o *Options) runID(r *plan.Run) string {
	generator := ""
	if o.Lab != nil {
		generator = o.Lab.selectGenerator().Name
	}
	return results.RunID(r, o.Executable, generator)
}

// resultsFolder returns the results folder of an experiment, or "" without Options.Dir.
func (o *Options) resultsFolder(s *experiment.Spec) string {
	if o.Dir == "" {
		return ""
	}
	return results.FolderPath(s, o.Dir, o.worldName())
}

// Execute executes the runs of an experiment that have no results, several at a time, and judges the experiment's
// claims.
//
// It moves each run's file into place when the run has finished, so that finished runs are kept if the program is
// killed. If ctx ends, it stops the runs in flight and returns the finished ones. A run without its requested trace is
// executed again and must give the same result. Several processes may execute one experiment: they share its runs. Runs
// of the lab execute one at a time.
//
// It returns an InputErrors without an outcome if the folder belongs to another version or a traced port does not
// exist; it has not written a file then. For other errors of the folder it returns the outcome too, with what was kept.
// The outcome lists the runs that failed: they are no error of Execute.
func Execute(ctx context.Context, s *experiment.Spec, o Options) (*results.Outcome, error) {
	runs := plan.ListRunsOn(s, o.worldName())
	ports, err := TracePorts(s, o.Trace)
	if err != nil {
		return nil, err
	}
	if o.Lab != nil {
		o.Jobs = 1 // concurrent runs would disturb each other
	}
	if err := o.checkRunner(s); err != nil {
		return nil, err
	}
	x := &execution{
		o: &o, runs: runs, ports: ports,
		out: &results.Outcome{Name: s.Name(), World: o.worldName(), Spec: s, Command: o.Command,
			Version: revision.Version(), Program: revision.This().String()},
		all: make([]*results.Run, len(runs)), before: make([]*results.Run, len(runs)), failures: make([]error, len(runs)),
		found: make([]bool, len(runs)), files: make([]fs.FileInfo, len(runs)), leave: func() {},
	}
	if o.Lab != nil {
		x.out.Counterpart = o.Lab.Counterpart
	}
	x.seeds, x.local = x.firstSeeds(), results.NewExecution(results.ByHere)
	defer func() { x.leave() }()
	if o.Dir != "" {
		if err := x.openFolder(ctx); err != nil {
			return nil, err
		}
	}
	lost := x.executeMissing(ctx)
	if x.out.Dir == "" {
		x.collectResults()
		return x.out, lost
	}
	if err := x.withSpace(ctx, x.writeResults); lost == nil {
		lost = err
	}
	if lost != nil {
		lost = fmt.Errorf("%w; %s", lost, x.out.DescribeKept())
	}
	return x.out, lost
}

// execution is the state of Execute.
type execution struct {
	o          *Options
	out        *results.Outcome
	runs       []*plan.Run
	ports      [][]trace.Port // to trace, by point
	all        []*results.Run // by run; nil: no result
	before     []*results.Run // results of runs that lack only their trace
	failures   []error        // by run
	found      []bool         // by run: it had a result, or another process executed it
	files      []fs.FileInfo  // by run: its file at the last check; nil: no file
	seeds      int            // number of seeds of each point that are wanted so far
	noticeLock sync.Mutex     // protects Options.OnNotice

	local       results.Execution   // account of the runs in this process
	accounts    []results.Execution // accounts from the runner
	interrupted bool
	diskFull    atomic.Bool // results of the runner wait for space on the disk
	leave       func()      // leaves the processes that trace the same ports
}

// newTracer returns the tracer of a run, or nil if no port is traced.
func (x *execution) newTracer(r *plan.Run) *tracer {
	return newTracer(x.out.Dir, x.o.runID(r), x.ports[r.Index], &x.o.Tracing, r.Spec.TraceQuota())
}

// openFolder sets out.Dir, finds the runs that have results, creates the results folder and registers the trace. It
// then writes the specification, its origin and its inputs. If the folder belongs to another version, it returns an
// error and has written no file.
func (x *execution) openFolder(ctx context.Context) error {
	s := x.out.Spec
	x.out.Dir = x.o.resultsFolder(s)
	if err := results.CheckFolder(s, x.out.Dir); err != nil {
		return err
	}
	if err := x.findResults(ctx, 0); err != nil {
		return err
	}
	if err := results.MakeFolder(x.out.Dir); err != nil {
		return err
	}
	if err := x.shareTrace(); err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "spec.yaml"), s.Resolved()); err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "origin.json"), results.FormatOrigin(s,
		x.o.Command)); err != nil {
		return err
	}
	return results.WriteInputs(s, x.out.Dir)
}

// findResult looks for the result of run i with its requested trace and captures, and sets all, before, found and files
// of the run. A result that lacks only its trace is set in before. It issues a notice for a damaged result, unless
// Fresh is set. It returns an error if the folder belongs to another version.
func (x *execution) findResult(i int) error {
	r, id := x.runs[i], x.o.runID(x.runs[i])
	file := results.RunFile(x.out.Dir, id)
	x.all[i], x.before[i], x.found[i] = nil, nil, false
	x.files[i], _ = os.Stat(file) // an unreadable file is reported by Find
	run, err := results.FindRun(x.out.Dir, r, id)
	var damage results.DamagedError
	if errors.As(err, &damage) {
		x.notifyRepeat(fmt.Errorf("%s: %w", filepath.Join("runs", filepath.Base(file)), err))
		return nil
	}
	if err != nil || run == nil {
		return err
	}
	if x.o.Lab != nil {
		captured, err := x.o.Lab.hasCaptures(run, x.out.Dir)
		if err != nil {
			x.notifyRepeat(err)
		}
		if !captured {
			return nil
		}
	}
	traced, err := x.newTracer(r).isComplete(run)
	if err != nil {
		x.notifyRepeat(err)
	}
	if x.found[i] = traced; traced {
		x.all[i] = run
	} else {
		x.before[i] = run
	}
	return nil
}

// notifyRepeat issues a notice with the reason why a run with a result is executed again. With Fresh, it issues no
// notice.
func (x *execution) notifyRepeat(why error) {
	x.noticeLock.Lock()
	defer x.noticeLock.Unlock()
	if x.o.OnNotice != nil && !x.o.Fresh {
		x.o.OnNotice(fmt.Sprintf("%v; the run is repeated", why))
	}
}

// executeMissing executes the runs without results, several at a time, and adds seeds until the measures need no more.
// If any run is needed, it begins the runner, writes its account and closes it. It returns an error if results cannot
// be kept, and stops then: further runs would be lost too.
func (x *execution) executeMissing(ctx context.Context) (lost error) {
	next := x.listLacking(0)
	if len(next) == 0 {
		if next, lost = x.addSeeds(ctx); len(next) == 0 {
			return cmp.Or(lost, x.writeAccount(ctx))
		}
	}
	defer func() { x.interrupted = ctx.Err() != nil }()
	if x.o.Runner != nil {
		defer func() {
			if err := x.writeAccount(ctx); lost == nil {
				lost = err
			}
			if err := x.o.Runner.Close(); lost == nil {
				lost = err
			}
		}()
		if err := x.beginElsewhere(ctx); err != nil {
			return err
		}
	}
	progress, begun := newProgress(x.o.OnProgress), []int(nil)
	for len(next) > 0 && ctx.Err() == nil {
		if x.o.Runner != nil {
			next = x.largestFirst(next)
		}
		begun = append(begun, next...)
		progress.setTotals(x.seeds*len(x.out.Spec.Points()), len(begun))
		err := x.executeAll(ctx, begun, len(next), progress)
		if err == nil {
			next, err = x.awaitVerified(ctx)
		}
		if err == nil && len(next) == 0 {
			next, err = x.addSeeds(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// executeAll executes the last count runs of todo, several at a time, and waits for those that other processes execute.
// The progress counts all runs of todo.
func (x *execution) executeAll(ctx context.Context, todo []int, count int, progress *progress) error {
	left := make([]int, count) // indices into todo
	for k := range left {
		left[k] = len(todo) - count + k
	}
	for waited := false; len(left) > 0 && ctx.Err() == nil; {
		taken, err := x.executeRound(ctx, todo, left, progress)
		if err != nil {
			return err
		}
		if len(taken) == len(left) { // another process executes all remaining runs
			if !waited && x.o.OnNotice != nil {
				x.o.OnNotice(fmt.Sprintf("another process executes %d of the runs; their results are used when they are finished",
					len(taken)))
			}
			waited = true
			select {
			case <-ctx.Done():
			case <-time.After(lookAgain):
			}
		}
		left = taken
	}
	return nil
}

// lookAgain is the interval at which the results of other processes are looked for.
const lookAgain = 100 * time.Millisecond

// executeRound executes the runs of todo with the indices in left. It returns the indices of those that other processes
// execute. The first result that cannot be kept stops all runs of the round, and its error is returned.
func (x *execution) executeRound(ctx context.Context, todo, left []int, progress *progress) (taken []int, lost error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	jobs := x.maxJobs()
	var next, running atomic.Int64
	var lock sync.Mutex
	var group sync.WaitGroup
	for range min(jobs, len(left)) {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(left) || ctx.Err() != nil {
					return
				}
				k := left[n]
				beside := int(running.Add(1)) - 1
				threads := x.o.threadsPerRun(min(jobs, len(left)-n+beside))
				err := x.executeOne(ctx, todo[k], threads, func(s sim.Progress, share float64) { progress.update(k, s, share) })
				running.Add(-1)
				if err != nil {
					lock.Lock()
					if errors.Is(err, atomicfile.ErrTaken) {
						taken = append(taken, k)
						lock.Unlock()
						continue
					}
					if lost == nil {
						lost = err
					}
					lock.Unlock()
					giveUp()
				}
				progress.finishRun(k)
			}
		})
	}
	group.Wait()
	slices.Sort(taken)
	return taken, lost
}

// lostError is the error of a result that cannot be kept. It is not an error of the run.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// executeOne executes run i and keeps its result in x.all and, with a results folder, in the run's file. A result that
// another process has written since the last check is used instead. An error of the run is recorded in failures. It
// returns an error if the result cannot be kept, and atomicfile.ErrTaken if another process executes the run.
func (x *execution) executeOne(ctx context.Context, i, threads int, progress progressFunc) error {
	r := x.runs[i]
	file := results.RunFile(x.out.Dir, x.o.runID(r))
	var claim *results.RunClaim
	if x.out.Dir != "" {
		err := x.withSpace(ctx, func() (err error) {
			claim, err = results.ClaimRun(x.out.Dir, x.o.runID(r))
			return err
		})
		if err != nil {
			return err
		}
		defer claim.Discard()
		if x.isNew(i, file) {
			if err := x.findResult(i); err != nil || x.all[i] != nil {
				return err
			}
		}
	}
	t := x.newTracer(r)
	defer t.discardFiles()
	if x.o.Runner != nil {
		x.all[i], x.failures[i] = x.executeElsewhere(ctx, i, t, progress)
	} else {
		x.all[i], x.failures[i] = executeRun(ctx, r, x.o, t, threads, progress)
	}
	var lost lostError
	if errors.As(x.failures[i], &lost) {
		x.failures[i] = errInterrupted
		return lost.error
	}
	if x.all[i] == nil || x.out.Dir == "" {
		return nil
	}
	data := x.all[i].EncodeJSON(true)
	if x.before[i] != nil && !bytes.Equal(x.before[i].EncodeJSON(true), data) {
		x.failures[i] = fmt.Errorf("repeated for its trace, the run yields a different result than in %s; this is a bug in "+
			"weir, or the machine computes wrongly",
			filepath.Base(file))
		return nil
	}
	err := x.withSpace(ctx, func() error { return t.commitFiles(x.all[i]) })
	if err == nil && x.o.Lab != nil {
		err = x.o.Lab.writeDigests(x.all[i], x.out.Dir)
	}
	if err == nil {
		err = x.withSpace(ctx, func() error { return claim.Keep(data) })
	}
	if err != nil {
		x.all[i], x.failures[i] = nil, errInterrupted
	}
	return err
}

// isNew reports whether the file of run i has appeared or changed since the last check, because another process
// executed the run.
func (x *execution) isNew(i int, file string) bool {
	now, err := os.Stat(file)
	was := x.files[i]
	return err == nil && (was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()))
}

// collectResults adds the results of the seeds that count to the outcome, and judges the claims. A result without its
// trace counts if the run was not repeated. Call it once: it appends to the outcome's lists and counts.
func (x *execution) collectResults() {
	out := x.out
	out.Chosen = x.chooseSeeds()
	for i, r := range x.runs {
		if !out.Chosen.CountsSeed(r.Seed - out.Spec.Seed()) {
			continue
		}
		if x.all[i] == nil && (x.failures[i] == nil || errors.Is(x.failures[i], errInterrupted)) {
			if x.all[i] = x.before[i]; x.all[i] != nil {
				out.Untraced++
			}
		}
		switch {
		case x.failures[i] != nil && !errors.Is(x.failures[i], errInterrupted):
			out.Failed = append(out.Failed, results.RunError{ID: x.o.runID(r), Point: r.Point, Seed: r.Seed, Err: x.failures[i]})
		case x.all[i] != nil:
			if out.Runs = append(out.Runs, x.all[i]); x.newTracer(r) != nil && x.before[i] != x.all[i] {
				out.Traces++
			}
			if x.found[i] {
				out.Found++
			}
		default:
			out.Missing++
		}
	}
	out.Claims = results.JudgeClaims(out.Spec, out.Runs, out.Seeds())
}

// writeResults looks for results of other processes, collects all results into the outcome (collectResults), and writes
// the files on all runs, under the folder's lock. It calls Options.Report last.
func (x *execution) writeResults() error {
	defer atomicfile.Lock(x.out.Dir)()
	if err := x.findOthers(); err != nil {
		return err
	}
	x.collectResults()
	if err := results.WriteFile(filepath.Join(x.out.Dir, "runs.json"), x.out.JSON()); err != nil {
		return err
	}
	if err := x.out.WriteTables(); err != nil {
		return err
	}
	if _, missing := results.ParquetFiles.Get(); missing != nil && x.o.OnNotice != nil {
		x.o.OnNotice(fmt.Sprintf("%s and similar files are not written: %v", results.FlowsFile, missing))
	}
	if err := x.keepHosts(); err != nil {
		return err
	}
	if x.o.Report != nil {
		return x.o.Report(x.out)
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// executeRun executes one run in its world. A panic of a scheme becomes the run's error. A run that ctx stops has the
// error errInterrupted. The lab uses neither tracer nor threads.
func executeRun(ctx context.Context, r *plan.Run, o *Options, t *tracer, threads int,
	progress progressFunc) (run *results.Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	if o.Lab != nil {
		return o.Lab.execute(ctx, r, o.resultsFolder(r.Spec), o.runID(r), func(share float64) {
			progress(sim.Progress{}, share)
		})
	}
	return simulate(ctx, r, o, t, threads, progress)
}

// simulate executes one run in the simulator. It returns errInterrupted if ctx ends before the run does, and the
// tracer's error if its trace cannot be written. It closes the files of the trace, but does not move them into place.
// It records frames of PFC after the warm-up if a measure needs them.
func simulate(ctx context.Context, r *plan.Run, o *Options, t *tracer, threads int,
	progress progressFunc) (run *results.Run, err error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	c.Threads, c.Yields = threads, o.Threads == 0
	if err := t.openFiles(c); err != nil {
		return nil, err
	}
	c.Stopped = func() bool { return ctx.Err() != nil || c.Trace != nil && c.Trace.Err() != nil }
	c.Progress = newReporter(r, c, o.currentTime, progress)
	if o.Observe != nil {
		x := o.Observe(r, c)
		c.View = x.ObserveWindow
		defer func() { x.End(err) }()
	}
	var frames []results.PFCFrame
	if n, _ := r.SpecPoint.Measures().ListNeeds(r.SpecPoint.Measured(), &c.Load); n.Pauses {
		c.OnPFC = func(e sim.PFCEvent) {
			if e.At >= c.Warmup {
				frames = append(frames, results.PFCFrame{TimeNs: int64(e.At / unit.Nanosecond), Node: e.Node, Port: int(e.Port),
					Class: int(e.Class), Paused: e.Paused})
			}
		}
	}
	res, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	progress(sim.Progress{Time: res.Time, PacketHops: res.PacketHops}, 1)
	if err := t.writeError(); err != nil {
		return nil, err
	}
	if c.Trace != nil && c.Trace.Err() != nil {
		return nil, c.Trace.Err()
	}
	if res.End == outcome.Interrupted {
		return nil, errInterrupted
	}
	if err := t.closeFiles(); err != nil {
		return nil, err
	}
	run = newRun(r, c, res, o.runID(r))
	if c.Ideal != nil {
		run.End.Network = c.Ideal.Form(jobPrograms(c))
	} else {
		run.End.Spurious = results.NewSpurious(measure.CountSpurious(r.SpecPoint.Measured(), &c.Load, res))
	}
	if c.OnPFC != nil {
		// Within a window, nodes run one after another: sort the frames of all nodes by time.
		sort.SliceStable(frames, func(i, j int) bool {
			a, b := &frames[i], &frames[j]
			return a.TimeNs < b.TimeNs || a.TimeNs == b.TimeNs && a.Node < b.Node
		})
		run.PFC = append([]results.PFCFrame{}, frames...)
	}
	return run, nil
}

// newRun evaluates the measures on a run's outcome, for either world.
func newRun(r *plan.Run, c *sim.Config, res *outcome.Result, id string) *results.Run {
	run := &results.Run{ID: id, Seed: r.Seed, Point: r.Point, End: results.End{Reason: string(res.End),
		TimeS: res.Time.Seconds()},
		Events: res.Events, PacketHops: res.PacketHops}
	for _, s := range res.Stuck {
		name := r.SpecPoint.Measured().PortName(s.Port)
		if s.Queue > 0 || res.End == outcome.Starved {
			name += fmt.Sprintf(" queue %d", s.Queue)
		}
		run.End.Ports = append(run.End.Ports, name)
	}
	run.End.Violation = describeViolation(r.SpecPoint, res)
	run.Values = r.SpecPoint.Measures().Evaluate(r.SpecPoint.Measured(), &c.Load, res)
	for i := range run.Distributions {
		run.Distributions[i].MergeValues()
	}
	for why := dataplane.Reason(1); why < dataplane.Reasons; why++ {
		if res.Drops[why] > 0 {
			run.Drops = append(run.Drops, results.Count{Name: why.String(), Count: res.Drops[why]})
		}
	}
	for k, i := range res.Unfinished {
		f := &c.Flows[i]
		run.Unfinished = append(run.Unfinished, results.UnfinishedFlow{Flow: i, Traffic: r.SpecPoint.Entry(f.Group).Name(),
			Src: c.Wiring.Network.Nodes[r.SpecPoint.Measured().Host(f.Src)].Name,
			Dst: c.Wiring.Network.Nodes[r.SpecPoint.Measured().Host(f.Dst)].Name, SizeBytes: int64(f.Size),
			DoneBytes: int64(res.Delivered[k])})
		if k < len(res.Waits) {
			run.Unfinished[k].WaitsFor = waitsFor(r.SpecPoint, &res.Waits[k])
		}
	}
	if x := res.Repeated; x != nil && x.Iterations > 0 {
		run.End.Iterations = &results.Iterations{Repeated: x.Iterations, First: x.First + 1, Cycle: x.Cycle,
			PeriodS: x.Period.Seconds(), Words: x.Words}
	} else if x != nil {
		run.End.Iterations = &results.Iterations{Why: x.Why}
	}
	if len(res.Waits) > 0 {
		run.End.WaitsFor = fmt.Sprintf("flow %d waits for %s", res.Waits[0].Flow, waitsFor(r.SpecPoint, &res.Waits[0]))
	}
	addJobs(run, r, res)
	return run
}
