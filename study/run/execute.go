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

// Options say how to carry out an experiment.
type Options struct {
	Jobs int // runs at a time; below 1 means one a core
	// Threads is how many carry out a run in the simulator; 0: as many as there are cores for each of the runs that are
	// carried out at a time, and one for as long as that is faster.
	Threads    int
	Dir        string // results go into a folder of their own below it; "" writes nothing
	Fresh      bool   // carry out also what is there already
	Executable string // revision.Executable of the program, part of every run's id
	Command    string // that asked for it, for the report
	OnProgress func(Progress)
	// OnNotice is told of runs that are there and damaged, and so are carried out again, and of those that another
	// process carries out.
	OnNotice func(text string)
	// Report writes what is made of the outcome besides into its folder, while no other process does.
	Report func(*results.Outcome) error
	Runner Runner   // where runs are carried out; nil: here. The simulator's only
	Trace  []string // ports, or patterns with *, of which every run leaves a trace; needs Dir; not in the lab
	// Tracing says what of a trace is kept.
	Tracing Tracing
	Lab     *Lab
	// Observe, if given, is told of each run that is carried out here in the simulator, before it begins, with what it
	// is carried out with. Several may go on at a time. Nothing that observers do reaches a result.
	Observe func(r *plan.Run, c *sim.Config) Observer

	clock func() time.Time // of reports of progress; nil: time.Now
}

// world says where runs are carried out.
func (o *Options) world() string {
	if o.Lab != nil {
		return experiment.Lab
	}
	return experiment.Sim
}

// id is the name of a run's result.
func (o *Options) id(r *plan.Run) string {
	generator := ""
	if o.Lab != nil {
		generator = o.Lab.generator().Name
	}
	return results.ID(r, o.Executable, generator)
}

// folder is where the results go; "" if nowhere.
func (o *Options) folder(s *experiment.Spec) string {
	if o.Dir == "" {
		return ""
	}
	return results.Folder(s, o.Dir, o.world())
}

// Execute carries out all runs of an experiment that are not there yet, several at
// a time, and judges its claims. Each run's file is moved into place when the run
// is finished, so whatever ends the program, what was finished is kept. When ctx
// ends, runs under way are given up, and the outcome has what is finished. The
// error is about the results folder or about ports to trace: an InputErrors if it is
// another version's folder or there is no such port, before anything is written; else
// the outcome has what was kept. Runs that fail are in the outcome. A run that is there
// without the trace that is wanted is carried out again, and must give the same. Several
// processes may carry out one experiment: they share its runs out among them.
func Execute(ctx context.Context, s *experiment.Spec, o Options) (*results.Outcome, error) {
	runs := plan.RunsOn(s, o.world())
	ports, err := TracePorts(s, o.Trace)
	if err != nil {
		return nil, err
	}
	if o.Lab != nil {
		o.Jobs = 1 // two would disturb each other
	}
	if err := o.suits(s); err != nil {
		return nil, err
	}
	x := &execution{
		o: &o, runs: runs, ports: ports,
		out: &results.Outcome{Name: s.Name(), World: o.world(), Spec: s, Command: o.Command,
			Version: revision.Version(), Program: revision.This().String()},
		all: make([]*results.Run, len(runs)), before: make([]*results.Run, len(runs)), failures: make([]error, len(runs)),
		found: make([]bool, len(runs)), files: make([]fs.FileInfo, len(runs)), leave: func() {},
	}
	if o.Lab != nil {
		x.out.Counterpart = o.Lab.Beside
	}
	x.seeds, x.own = x.firstSeeds(), results.NewExecution(results.ByHere)
	defer func() { x.leave() }()
	if o.Dir != "" {
		if err := x.begin(ctx); err != nil {
			return nil, err
		}
	}
	lost := x.carryOut(ctx)
	if x.out.Dir == "" {
		x.gather()
		return x.out, lost
	}
	if err := x.withSpace(ctx, x.end); lost == nil {
		lost = err
	}
	if lost != nil {
		lost = fmt.Errorf("%w; %s", lost, x.out.Kept())
	}
	return x.out, lost
}

// execution is what Execute has in hand.
type execution struct {
	o        *Options
	out      *results.Outcome
	runs     []*plan.Run
	ports    [][]trace.Port // to trace, by point
	all      []*results.Run // by run; nil: not there
	before   []*results.Run // what is there of runs that only a trace is wanted of
	failures []error        // by run
	found    []bool         // by run: it was there, or another process has carried it out
	files    []fs.FileInfo  // by run: its file when it was looked at last; nil: there was none
	seeds    int            // the first so many of each point are wanted so far
	telling  sync.Mutex     // around Options.OnNotice

	own         results.Execution   // what happened here
	told        []results.Execution // what the runner says has happened
	interrupted bool
	full        atomic.Bool // what others have made waits for space on the disk
	leave       func()      // those who trace the same ports
}

// tracer makes the traces of a run; nil if none is wanted.
func (x *execution) tracer(r *plan.Run) *tracer {
	return newTracer(x.out.Dir, x.o.id(r), x.ports[r.Index], &x.o.Tracing, r.Spec.TraceQuota())
}

// begin makes the results folder, and finds the runs that are there.
func (x *execution) begin(ctx context.Context) error {
	s := x.out.Spec
	x.out.Dir = x.o.folder(s)
	if err := results.Usable(s, x.out.Dir); err != nil {
		return err
	}
	if err := x.look(ctx, 0); err != nil {
		return err
	}
	if err := results.MakeFolder(x.out.Dir); err != nil {
		return err
	}
	if err := x.share(); err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "spec.yaml"), s.Resolved()); err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "origin.json"), results.Origin(s, x.o.Command)); err != nil {
		return err
	}
	return results.WriteInputs(s, x.out.Dir)
}

// find looks whether a run is there, with the trace that is wanted. What is there and cannot be taken is told, unless
// all is to be carried out anew. The error is about a folder that is another version's.
func (x *execution) find(i int) error {
	r, id := x.runs[i], x.o.id(x.runs[i])
	file := results.RunFile(x.out.Dir, id)
	x.all[i], x.before[i], x.found[i] = nil, nil, false
	x.files[i], _ = os.Stat(file) // what cannot be looked at cannot be read either
	run, err := results.Find(x.out.Dir, r, id)
	var damage results.DamagedError
	if errors.As(err, &damage) {
		x.tell(fmt.Errorf("%s: %w", filepath.Join("runs", filepath.Base(file)), err))
		return nil
	}
	if err != nil || run == nil {
		return err
	}
	if x.o.Lab != nil {
		captured, err := x.o.Lab.captured(run, x.out.Dir)
		if err != nil {
			x.tell(err)
		}
		if !captured {
			return nil
		}
	}
	traced, err := x.tracer(r).there(run)
	if err != nil {
		x.tell(err)
	}
	if x.found[i] = traced; traced {
		x.all[i] = run
	} else {
		x.before[i] = run
	}
	return nil
}

// tell says why a run that seems to be there is carried out again.
func (x *execution) tell(why error) {
	x.telling.Lock()
	defer x.telling.Unlock()
	if x.o.OnNotice != nil && !x.o.Fresh {
		x.o.OnNotice(fmt.Sprintf("%v: the run is carried out again", why))
	}
}

// carryOut carries out the runs that are not there, several at a time. The error is about what
// could not be kept: it ends all, because what cannot be kept is not worth carrying out.
func (x *execution) carryOut(ctx context.Context) (lost error) {
	next := x.lacking(0)
	if len(next) == 0 {
		if next, lost = x.more(ctx); len(next) == 0 {
			return cmp.Or(lost, x.account(ctx))
		}
	}
	defer func() { x.interrupted = ctx.Err() != nil }()
	if x.o.Runner != nil {
		defer func() {
			if err := x.account(ctx); lost == nil {
				lost = err
			}
			if err := x.o.Runner.End(); lost == nil {
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
		progress.grow(x.seeds*len(x.out.Spec.Points()), len(begun))
		err := x.allOf(ctx, begun, len(next), progress)
		if err == nil {
			next, err = x.settled(ctx)
		}
		if err == nil && len(next) == 0 {
			next, err = x.more(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allOf carries out the last so many runs of todo, several at a time, and waits for those of them that other processes
// carry out.
func (x *execution) allOf(ctx context.Context, todo []int, last int, progress *progress) error {
	left := make([]int, last) // indices into todo
	for k := range left {
		left[k] = len(todo) - last + k
	}
	for waited := false; len(left) > 0 && ctx.Err() == nil; {
		taken, err := x.round(ctx, todo, left, progress)
		if err != nil {
			return err
		}
		if len(taken) == len(left) { // another process carries out all that is left
			if !waited && x.o.OnNotice != nil {
				x.o.OnNotice(fmt.Sprintf("another process carries out %d of the runs; they are taken when they are there",
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

// lookAgain is how often runs are looked at that another process carries out.
const lookAgain = 100 * time.Millisecond

// round carries out runs of todo, and returns those that other processes carry out just now.
func (x *execution) round(ctx context.Context, todo, left []int, progress *progress) (taken []int, lost error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	jobs := x.jobs()
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
				threads := x.o.threads(min(jobs, len(left)-n+beside))
				err := x.one(ctx, todo[k], threads, func(s sim.Progress, share float64) { progress.at(k, s, share) })
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
				progress.done(k)
			}
		})
	}
	group.Wait()
	slices.Sort(taken)
	return taken, lost
}

// lostError is what cannot be kept: no error of the run.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// one carries out a run, and keeps what it gives. The error says that it cannot be kept; it is
// atomicfile.ErrTaken if another process carries out the run.
func (x *execution) one(ctx context.Context, i, threads int, progress howFar) error {
	r := x.runs[i]
	file := results.RunFile(x.out.Dir, x.o.id(r))
	var claim *results.RunClaim
	if x.out.Dir != "" {
		err := x.withSpace(ctx, func() (err error) {
			claim, err = results.ClaimRun(x.out.Dir, x.o.id(r))
			return err
		})
		if err != nil {
			return err
		}
		defer claim.Discard()
		if x.isNew(i, file) {
			if err := x.find(i); err != nil || x.all[i] != nil {
				return err
			}
		}
	}
	t := x.tracer(r)
	defer t.abandon()
	if x.o.Runner != nil {
		x.all[i], x.failures[i] = x.elsewhere(ctx, i, t, progress)
	} else {
		x.all[i], x.failures[i] = carryOut(ctx, r, x.o, t, threads, progress)
	}
	var lost lostError
	if errors.As(x.failures[i], &lost) {
		x.failures[i] = errInterrupted
		return lost.error
	}
	if x.all[i] == nil || x.out.Dir == "" {
		return nil
	}
	data := x.all[i].Json(true)
	if x.before[i] != nil && !bytes.Equal(x.before[i].Json(true), data) {
		x.failures[i] = fmt.Errorf("carried out again for its trace, it gives another result than %s has",
			filepath.Base(file))
		return nil
	}
	err := x.withSpace(ctx, func() error { return t.finish(x.all[i]) })
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

// isNew reports whether a run's file has come since it was looked at: another process has carried it out.
func (x *execution) isNew(i int, file string) bool {
	now, err := os.Stat(file)
	was := x.files[i]
	return err == nil && (was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()))
}

// gather puts what runs have given into the outcome.
func (x *execution) gather() {
	out := x.out
	out.Chosen = x.choose()
	for i, r := range x.runs {
		if !out.Chosen.Counts(r.Seed - out.Spec.Seed()) {
			continue
		}
		if x.all[i] == nil && (x.failures[i] == nil || errors.Is(x.failures[i], errInterrupted)) {
			if x.all[i] = x.before[i]; x.all[i] != nil {
				out.Untraced++
			}
		}
		switch {
		case x.failures[i] != nil && !errors.Is(x.failures[i], errInterrupted):
			out.Failed = append(out.Failed, results.RunError{ID: x.o.id(r), Point: r.Point, Seed: r.Seed, Err: x.failures[i]})
		case x.all[i] != nil:
			if out.Runs = append(out.Runs, x.all[i]); x.tracer(r) != nil && x.before[i] != x.all[i] {
				out.Traces++
			}
			if x.found[i] {
				out.Found++
			}
		default:
			out.Missing++
		}
	}
	out.Claims = results.Judge(out.Spec, out.Runs, out.Seeds())
}

// end writes what is made of all runs: alone, so that what stays is of all that is there.
func (x *execution) end() error {
	defer atomicfile.Lock(x.out.Dir)()
	if err := x.others(); err != nil {
		return err
	}
	x.gather()
	if err := results.WriteFile(filepath.Join(x.out.Dir, "runs.json"), x.out.JSON()); err != nil {
		return err
	}
	if err := x.out.WriteTables(); err != nil {
		return err
	}
	if _, missing := results.ParquetFiles.Get(); missing != nil && x.o.OnNotice != nil {
		x.o.OnNotice(fmt.Sprintf("%s and the like are not written: %v", results.FlowsFile, missing))
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

// carryOut runs one run in the world that is wanted. A panic in a scheme is an error of
// the run, not the end of all.
func carryOut(ctx context.Context, r *plan.Run, o *Options, t *tracer, threads int,
	progress howFar) (run *results.Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	if o.Lab != nil {
		return o.Lab.carryOut(ctx, r, o.folder(r.Spec), o.id(r), func(share float64) {
			progress(sim.Progress{}, share)
		})
	}
	return simulate(ctx, r, o, t, threads, progress)
}

// simulate runs one run in the simulator.
func simulate(ctx context.Context, r *plan.Run, o *Options, t *tracer, threads int,
	progress howFar) (run *results.Run, err error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	c.Threads, c.Yields = threads, o.Threads == 0
	if err := t.begin(c); err != nil {
		return nil, err
	}
	c.Stopped = func() bool { return ctx.Err() != nil || c.Trace != nil && c.Trace.Err() != nil }
	c.Progress = reporter(r, c, o.now, progress)
	if o.Observe != nil {
		x := o.Observe(r, c)
		c.View = x.Look
		defer func() { x.End(err) }()
	}
	var frames []results.PFCFrame
	if n, _ := r.Of.Measures().Needs(r.Of.Measured(), &c.Load); n.Pauses {
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
	if err := t.lost(); err != nil {
		return nil, err
	}
	if c.Trace != nil && c.Trace.Err() != nil {
		return nil, c.Trace.Err()
	}
	if res.End == outcome.Interrupted {
		return nil, errInterrupted
	}
	if err := t.close(); err != nil {
		return nil, err
	}
	run = result(r, c, res, o.id(r))
	if c.Ideal != nil {
		run.End.Network = c.Ideal.Form(jobPrograms(c))
	} else {
		run.End.Spurious = results.NewSpurious(measure.Spurious(r.Of.Measured(), &c.Load, res))
	}
	if c.OnPFC != nil {
		// Nodes run one after another within a window; each one's frames are in order.
		sort.SliceStable(frames, func(i, j int) bool {
			a, b := &frames[i], &frames[j]
			return a.TimeNs < b.TimeNs || a.TimeNs == b.TimeNs && a.Node < b.Node
		})
		run.PFC = append([]results.PFCFrame{}, frames...)
	}
	return run, nil
}

// result is what the measures give of a run's result, in either world.
func result(r *plan.Run, c *sim.Config, res *outcome.Result, id string) *results.Run {
	run := &results.Run{ID: id, Seed: r.Seed, Point: r.Point, End: results.End{Reason: string(res.End),
		TimeS: res.Time.Seconds()},
		Events: res.Events, PacketHops: res.PacketHops}
	for _, s := range res.Stuck {
		name := r.Of.Measured().PortName(s.Port)
		if s.Queue > 0 || res.End == outcome.Starved {
			name += fmt.Sprintf(" queue %d", s.Queue)
		}
		run.End.Ports = append(run.End.Ports, name)
	}
	run.End.Violation = violation(r.Of, res)
	run.Values = r.Of.Measures().Evaluate(r.Of.Measured(), &c.Load, res)
	for i := range run.Distributions {
		run.Distributions[i].Thin()
	}
	for why := dataplane.Reason(1); why < dataplane.Reasons; why++ {
		if res.Drops[why] > 0 {
			run.Drops = append(run.Drops, results.Count{Name: why.String(), Count: res.Drops[why]})
		}
	}
	for k, i := range res.Unfinished {
		f := &c.Flows[i]
		run.Unfinished = append(run.Unfinished, results.UnfinishedFlow{Flow: i, Traffic: r.Of.Entry(f.Group).Name(),
			Src: c.Wiring.Network.Nodes[r.Of.Measured().Host(f.Src)].Name,
			Dst: c.Wiring.Network.Nodes[r.Of.Measured().Host(f.Dst)].Name, SizeBytes: int64(f.Size),
			DoneBytes: int64(res.Delivered[k])})
		if k < len(res.Waits) {
			run.Unfinished[k].WaitsFor = waitsFor(r.Of, &res.Waits[k])
		}
	}
	if x := res.Repeated; x != nil && x.Iterations > 0 {
		run.End.Iterations = &results.Iterations{Repeated: x.Iterations, First: x.First + 1, Cycle: x.Cycle,
			PeriodS: x.Period.Seconds(), Words: x.Words}
	} else if x != nil {
		run.End.Iterations = &results.Iterations{Why: x.Why}
	}
	if len(res.Waits) > 0 {
		run.End.WaitsFor = fmt.Sprintf("flow %d waits for %s", res.Waits[0].Flow, waitsFor(r.Of, &res.Waits[0]))
	}
	addJobs(run, r, res)
	return run
}
