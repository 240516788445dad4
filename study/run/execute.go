package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"weir/core/dataplane"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Progress is how far an execution is.
type Progress struct {
	Runs, Done int
	Share      float64 // of the simulated time of all runs that had to be carried out
}

// Options say how to carry out an experiment.
type Options struct {
	Jobs       int    // runs at a time; below 1 means one a core
	Dir        string // results go into a folder of their own below it; "" writes nothing
	Fresh      bool   // carry out also what is there already
	Executable string // SHA-256 of the program, part of every run's id
	Command    string // that asked for it, for the report
	OnProgress func(Progress)
	Trace      []string // ports, or patterns with *, of which every run leaves a trace; needs Dir; not in the lab
	Lab        *Lab
}

// world says where runs are carried out.
func (o *Options) world() string {
	if o.Lab != nil {
		return spec.Lab
	}
	return spec.Sim
}

// id is the name of a run's result.
func (o *Options) id(r *plan.Run) string {
	if o.Lab != nil {
		return r.ID(o.Executable + " lab " + o.Lab.generator().Name)
	}
	return r.ID(o.Executable)
}

// folder is where the results go; "" if nowhere.
func (o *Options) folder(s *spec.Spec) string {
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
// without the trace that is wanted is carried out again, and must give the same.
func Execute(ctx context.Context, s *spec.Spec, o Options) (*results.Outcome, error) {
	runs := plan.RunsOn(s, o.world())
	ports, err := tracePorts(s, o.Trace)
	if err != nil {
		return nil, err
	}
	if o.Lab != nil {
		o.Jobs = 1 // two would disturb each other
	}
	x := &execution{
		o: &o, runs: runs, ports: ports,
		out: &results.Outcome{Name: s.Name(), World: o.world(), Spec: s, Command: o.Command},
		all: make([]*results.Run, len(runs)), before: make([]*results.Run, len(runs)), failures: make([]error, len(runs)),
	}
	if o.Lab != nil {
		x.out.Beside = o.Lab.Beside
	}
	if o.Dir != "" {
		if err := x.begin(); err != nil {
			return nil, err
		}
	}
	lost := x.carryOut(ctx)
	x.gather()
	x.out.Claims = results.Judge(s, x.out.Runs, x.out.World)
	if x.out.Dir == "" {
		return x.out, nil
	}
	if err := x.end(); lost == nil {
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
}

// tracer makes the traces of a run; nil if none is wanted.
func (x *execution) tracer(r *plan.Run) *tracer {
	return newTracer(x.out.Dir, x.o.id(r), x.ports[r.Index])
}

// begin makes the results folder, and finds the runs that are there.
func (x *execution) begin() error {
	s := x.out.Spec
	x.out.Dir = x.o.folder(s)
	var ids []string
	for _, r := range x.runs {
		ids = append(ids, x.o.id(r))
	}
	found, err := results.Found(s, x.out.Dir, ids)
	if err != nil {
		return err
	}
	if !x.o.Fresh {
		x.all = found
	}
	for i, r := range x.runs {
		if x.all[i] != nil && !x.tracer(r).there() {
			x.before[i], x.all[i] = x.all[i], nil
		}
		if x.all[i] != nil && x.o.Lab != nil && !x.o.Lab.captured(x.all[i]) {
			x.all[i] = nil
		}
	}
	if err := os.MkdirAll(filepath.Join(x.out.Dir, "runs"), 0o777); err != nil {
		return fmt.Errorf("%s: the results folder cannot be made: %w", x.out.Dir, document.Reason(err))
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "spec.yaml"), s.Resolved()); err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(x.out.Dir, "origin.json"), results.Origin(s, x.o.Command)); err != nil {
		return err
	}
	return results.WriteInputs(s, x.out.Dir)
}

// carryOut carries out the runs that are not there, several at a time. The error is about what
// could not be kept: it ends all, because what cannot be kept is not worth carrying out.
func (x *execution) carryOut(ctx context.Context) error {
	var todo []int
	for i := range x.runs {
		if x.all[i] != nil {
			x.out.Found++
		} else {
			todo = append(todo, i)
		}
	}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var lost atomic.Pointer[error]
	jobs := x.o.Jobs
	if jobs < 1 {
		jobs = runtime.GOMAXPROCS(0)
	}
	progress := newProgress(len(x.runs), x.out.Found, len(todo), x.o.OnProgress)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(jobs, len(todo)) {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				k := int(next.Add(1)) - 1
				if k >= len(todo) || ctx.Err() != nil {
					return
				}
				err := x.one(ctx, todo[k], func(share float64) { progress.at(k, share) })
				if err != nil {
					lost.CompareAndSwap(nil, &err)
					giveUp()
				}
				progress.done(k)
			}
		}()
	}
	group.Wait()
	if first := lost.Load(); first != nil {
		return *first
	}
	return nil
}

// one carries out a run, and keeps what it gives. The error says that it cannot be kept.
func (x *execution) one(ctx context.Context, i int, progress func(share float64)) error {
	r := x.runs[i]
	t := x.tracer(r)
	defer t.abandon()
	x.all[i], x.failures[i] = carryOut(ctx, r, x.o, t, progress)
	if x.all[i] == nil || x.out.Dir == "" {
		return nil
	}
	data, file := x.all[i].Json(true), results.RunFile(x.out.Dir, x.o.id(r))
	if x.before[i] != nil && !bytes.Equal(x.before[i].Json(true), data) {
		x.failures[i] = fmt.Errorf("carried out again for its trace, it gives another result than %s has",
			filepath.Base(file))
		return nil
	}
	err := t.finish()
	if err == nil {
		err = results.WriteFile(file, data)
	}
	if err != nil {
		x.all[i], x.failures[i] = nil, errInterrupted
	}
	return err
}

// gather puts what runs have given into the outcome.
func (x *execution) gather() {
	out := x.out
	for i, r := range x.runs {
		traced := x.all[i] != nil && x.tracer(r) != nil
		if x.all[i] == nil && (x.failures[i] == nil || errors.Is(x.failures[i], errInterrupted)) {
			if x.all[i] = x.before[i]; x.all[i] != nil {
				out.Untraced++
			}
		}
		switch {
		case x.failures[i] != nil && !errors.Is(x.failures[i], errInterrupted):
			out.Failed = append(out.Failed, results.RunError{ID: x.o.id(r), Point: r.Point, Seed: r.Seed, Err: x.failures[i]})
		case x.all[i] != nil:
			if out.Runs = append(out.Runs, x.all[i]); traced {
				out.Traces++
			}
		default:
			out.Missing++
		}
	}
}

// end writes what is made of all runs.
func (x *execution) end() error {
	if err := results.WriteFile(filepath.Join(x.out.Dir, "runs.json"), x.out.JSON()); err != nil {
		return err
	}
	if err := x.out.WriteTables(); err != nil {
		return err
	}
	return results.WriteFile(filepath.Join(x.out.Dir, "host.json"), hostFacts(*x.o))
}

// hostFacts are all that results say of the machine.
func hostFacts(o Options) []byte {
	host, _ := os.Hostname()
	data, _ := json.Marshal(map[string]any{
		"host": host, "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(),
		"go": runtime.Version(), "executable_sha256": o.Executable, "jobs": o.Jobs,
	})
	return results.Indent(data)
}

var errInterrupted = errors.New("interrupted")

// carryOut runs one run in the world that is wanted. A panic in a scheme is an error of
// the run, not the end of all.
func carryOut(ctx context.Context, r *plan.Run, o *Options, t *tracer, progress func(share float64)) (run *results.Run,
	err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	if o.Lab != nil {
		return o.Lab.carryOut(ctx, r, o.folder(r.Spec), o.id(r), progress)
	}
	return simulate(ctx, r, o.id(r), t, progress)
}

// simulate runs one run in the simulator.
func simulate(ctx context.Context, r *plan.Run, id string, t *tracer, progress func(share float64)) (*results.Run,
	error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	if err := t.begin(c); err != nil {
		return nil, err
	}
	c.Stopped = func() bool { return ctx.Err() != nil || c.Trace != nil && c.Trace.Err() != nil }
	next := unit.Time(0)
	c.Progress = func(now unit.Time) {
		if now >= next {
			progress(now.Seconds() / c.Duration.Seconds())
			next = now + c.Duration/100
		}
	}
	var frames []results.PFCFrame
	if n, _ := r.Of.Measures().Needs(r.Of.Measured(), c); n.Pauses {
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
	if c.Trace != nil && c.Trace.Err() != nil {
		return nil, c.Trace.Err()
	}
	if res.End == sim.Interrupted {
		return nil, errInterrupted
	}
	run := result(r, c, res, id)
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
func result(r *plan.Run, c *sim.Config, res *sim.Result, id string) *results.Run {
	run := &results.Run{ID: id, Seed: r.Seed, Point: r.Point, End: results.End{Reason: string(res.End),
		TimeS: res.Time.Seconds()},
		Events: res.Events, PacketHops: res.PacketHops}
	for _, s := range res.Stuck {
		name := r.Of.Measured().PortName(s.Port)
		if s.Queue > 0 || res.End == sim.Starved {
			name += fmt.Sprintf(" queue %d", s.Queue)
		}
		run.End.Ports = append(run.End.Ports, name)
	}
	run.End.Violation = res.Violation
	run.Values = r.Of.Measures().Evaluate(r.Of.Measured(), c, res)
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
			Src: c.Network.Nodes[f.Src].Name,
			Dst: c.Network.Nodes[f.Dst].Name, SizeBytes: int64(f.Size), DoneBytes: int64(f.Receiver.Counters().ReceivedBytes)})
		if k < len(res.Waits) {
			run.Unfinished[k].WaitsFor = res.Waits[k].String()
		}
	}
	if len(res.Waits) > 0 {
		run.End.WaitsFor = fmt.Sprintf("flow %d waits for %v", res.Waits[0].Flow, res.Waits[0])
	}
	return run
}

// progress adds up what the workers report.
type progress struct {
	mu     sync.Mutex
	report func(Progress)
	now    Progress
	shares []float64
}

func newProgress(runs, found, todo int, report func(Progress)) *progress {
	return &progress{report: report, now: Progress{Runs: runs, Done: found}, shares: make([]float64, todo)}
}

func (p *progress) at(k int, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shares[k] = min(share, 1)
	sum := 0.0
	for _, s := range p.shares {
		sum += s
	}
	p.now.Share = sum / float64(len(p.shares))
	if p.report != nil {
		p.report(p.now)
	}
}

func (p *progress) done(k int) {
	p.mu.Lock()
	p.now.Done++
	p.mu.Unlock()
	p.at(k, 1)
}
