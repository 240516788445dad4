package experiment

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
	"strings"
	"sync"
	"sync/atomic"

	"weir/core/dataplane"
	"weir/core/unit"
	"weir/worlds/sim"
)

// Progress is how far an execution is.
type Progress struct {
	Runs, Done int
	Share      float64 // of the simulated time of all runs that had to be carried out
}

// ExecOptions say how to carry out an experiment.
type ExecOptions struct {
	Jobs       int    // runs at a time; below 1 means one a core
	Dir        string // results go into a folder of their own below it; "" writes nothing
	Fresh      bool   // carry out also what is there already
	Executable string // SHA-256 of the program, part of every run's id
	Command    string // that asked for it, for the report
	OnProgress func(Progress)
	Trace      []string // ports, or patterns with *, of which every run leaves a trace; needs Dir; not in the lab
	Lab        *LabOptions
}

// world says where runs are carried out.
func (o *ExecOptions) world() string {
	if o.Lab != nil {
		return Lab
	}
	return Sim
}

// id is the name of a run's result.
func (o *ExecOptions) id(r *RunSpec) string {
	if o.Lab != nil {
		return r.ID(o.Executable + " lab " + o.Lab.generator().Name)
	}
	return r.ID(o.Executable)
}

// folder is where the results go; "" if nowhere.
func (o *ExecOptions) folder(s *Spec) string {
	if o.Dir == "" {
		return ""
	}
	return s.Folder(o.Dir, o.world())
}

// Folder is the experiment's results folder below dir, of a world.
func (s *Spec) Folder(dir, world string) string {
	name := strings.ReplaceAll(s.Name, "/", "-") + "-" + s.Hash()[:12]
	if world != Sim {
		name += "-" + world
	}
	return filepath.Join(dir, name)
}

// Execute carries out all runs of an experiment that are not there yet, several at
// a time, and judges its claims. Each run's file is moved into place when the run
// is finished, so whatever ends the program, what was finished is kept. When ctx
// ends, runs under way are given up, and the outcome has what is finished. The
// error is about the results folder or about ports to trace: an InputErrors if it is
// another version's folder or there is no such port, before anything is written; else
// the outcome has what was kept. Runs that fail are in the outcome. A run that is there
// without the trace that is wanted is carried out again, and must give the same.
func Execute(ctx context.Context, s *Spec, o ExecOptions) (*Outcome, error) {
	runs := s.RunsOn(o.world())
	ports, err := s.tracePorts(o.Trace)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Name: s.Name, World: o.world(), Spec: s, Command: o.Command}
	if o.Lab != nil {
		out.Beside = o.Lab.Beside
		o.Jobs = 1 // two would disturb each other
	}
	results := make([]*Run, len(runs))
	before := make([]*Run, len(runs)) // what is there of runs that only a trace is wanted of
	failures := make([]error, len(runs))
	if o.Dir != "" {
		out.Dir = o.folder(s)
		found, err := s.found(out.Dir, o)
		if err != nil {
			return nil, err
		}
		if !o.Fresh {
			results = found
		}
		for i, r := range runs {
			if results[i] != nil && !newTracer(out.Dir, o.id(r), ports[r.index]).there() {
				before[i], results[i] = results[i], nil
			}
			if results[i] != nil && o.Lab != nil && !o.Lab.captured(results[i]) {
				results[i] = nil
			}
		}
		if err := os.MkdirAll(filepath.Join(out.Dir, "runs"), 0o777); err != nil {
			return nil, fmt.Errorf("%s: the results folder cannot be made: %w", out.Dir, reason(err))
		}
		if err := WriteFile(filepath.Join(out.Dir, "spec.yaml"), s.Resolved()); err != nil {
			return nil, err
		}
		if err := WriteFile(filepath.Join(out.Dir, "origin.json"), s.origin(o.Command)); err != nil {
			return nil, err
		}
		if err := s.writeInputs(out.Dir); err != nil {
			return nil, err
		}
	}
	var todo []int
	for i := range runs {
		if results[i] != nil {
			out.Found++
		} else {
			todo = append(todo, i)
		}
	}
	ctx, giveUp := context.WithCancel(ctx) // what cannot be kept is not worth carrying out
	defer giveUp()
	var lost atomic.Pointer[error]
	jobs := o.Jobs
	if jobs < 1 {
		jobs = runtime.GOMAXPROCS(0)
	}
	progress := newProgress(len(runs), out.Found, len(todo), o.OnProgress)
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
				i := todo[k]
				t := newTracer(out.Dir, o.id(runs[i]), ports[runs[i].index])
				results[i], failures[i] = carryOut(ctx, runs[i], &o, t, func(share float64) { progress.at(k, share) })
				if results[i] != nil && out.Dir != "" {
					data := results[i].json(true)
					if before[i] != nil && !bytes.Equal(before[i].json(true), data) {
						failures[i] = fmt.Errorf("carried out again for its trace, it gives another result than %s has",
							filepath.Base(runFile(out.Dir, runs[i], o)))
					} else {
						err := t.finish()
						if err == nil {
							err = WriteFile(runFile(out.Dir, runs[i], o), data)
						}
						if err != nil {
							results[i], failures[i] = nil, errInterrupted
							lost.CompareAndSwap(nil, &err)
							giveUp()
						}
					}
				}
				t.abandon()
				progress.done(k)
			}
		}()
	}
	group.Wait()
	for i, r := range runs {
		traced := results[i] != nil && newTracer(out.Dir, o.id(r), ports[r.index]) != nil
		if results[i] == nil && (failures[i] == nil || errors.Is(failures[i], errInterrupted)) {
			if results[i] = before[i]; results[i] != nil {
				out.Untraced++
			}
		}
		switch {
		case failures[i] != nil && !errors.Is(failures[i], errInterrupted):
			out.Failed = append(out.Failed, RunError{o.id(r), r.Point, r.Seed, failures[i]})
		case results[i] != nil:
			if out.Runs = append(out.Runs, results[i]); traced {
				out.Traces++
			}
		default:
			out.Missing++
		}
	}
	out.Claims = s.judge(out.Runs, out.World)
	if out.Dir == "" {
		return out, nil
	}
	err = WriteFile(filepath.Join(out.Dir, "runs.json"), out.JSON())
	if err == nil {
		err = out.WriteTables()
	}
	if err == nil {
		err = WriteFile(filepath.Join(out.Dir, "host.json"), hostFacts(o))
	}
	if first := lost.Load(); first != nil {
		err = *first
	}
	if err != nil {
		err = fmt.Errorf("%w; %s", err, out.Kept())
	}
	return out, err
}

// Kept says how much of the experiment is in the results folder, and what to do about
// the rest.
func (o *Outcome) Kept() string {
	all := len(o.Runs) + len(o.Failed) + o.Missing
	switch {
	case o.Untraced > 0:
		return fmt.Sprintf("%d of %d runs are finished and kept, %d of them without the trace; the same command goes on "+
			"with the rest", len(o.Runs), all, o.Untraced)
	case len(o.Runs) == all:
		return fmt.Sprintf("all %d runs are finished and kept", all)
	}
	return fmt.Sprintf("%d of %d runs are finished and kept; the same command goes on with the rest", len(o.Runs), all)
}

func runFile(dir string, r *RunSpec, o ExecOptions) string {
	return filepath.Join(dir, "runs", o.id(r)+".json")
}

// WriteFile writes a file of a results folder so that a reader sees the old one or the
// new one, never a part. The error names the file.
func WriteFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("%s: it cannot be written: %w", name, reason(err))
	}
	_, err = f.Write(data)
	if err2 := f.Chmod(0o644); err == nil {
		err = err2
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: it cannot be written: %w", name, reason(err))
	}
	return nil
}

// hostFacts are all that results say of the machine.
func hostFacts(o ExecOptions) []byte {
	host, _ := os.Hostname()
	data, _ := json.Marshal(map[string]any{
		"host": host, "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(),
		"go": runtime.Version(), "executable_sha256": o.Executable, "jobs": o.Jobs,
	})
	return indent(data)
}

var errInterrupted = errors.New("interrupted")

// carryOut runs one run in the world that is wanted. A panic in a scheme is an error of
// the run, not the end of all.
func carryOut(ctx context.Context, r *RunSpec, o *ExecOptions, t *tracer, progress func(share float64)) (run *Run,
	err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	if o.Lab != nil {
		return o.Lab.carryOut(ctx, r, o.folder(r.spec), o.id(r), progress)
	}
	return simulate(ctx, r, o.id(r), t, progress)
}

// simulate runs one run in the simulator.
func simulate(ctx context.Context, r *RunSpec, id string, t *tracer, progress func(share float64)) (*Run, error) {
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
	var frames []PFCFrame
	if n, _ := r.point.measures.Needs(&r.point.Point, c); n.Pauses {
		c.OnPFC = func(e sim.PFCEvent) {
			if e.At >= c.Warmup {
				frames = append(frames, PFCFrame{int64(e.At / unit.Nanosecond), e.Node, int(e.Port), int(e.Class), e.Paused})
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
	run := r.result(c, res, id)
	if c.OnPFC != nil {
		// Nodes run one after another within a window; each one's frames are in order.
		sort.SliceStable(frames, func(i, j int) bool {
			a, b := &frames[i], &frames[j]
			return a.TimeNs < b.TimeNs || a.TimeNs == b.TimeNs && a.Node < b.Node
		})
		run.PFC = append([]PFCFrame{}, frames...)
	}
	return run, nil
}

// result is what the measures give of a run's result, in either world.
func (r *RunSpec) result(c *sim.Config, res *sim.Result, id string) *Run {
	run := &Run{ID: id, Seed: r.Seed, Point: r.Point, End: End{Reason: string(res.End), TimeS: res.Time.Seconds()},
		Events: res.Events, PacketHops: res.PacketHops}
	for _, s := range res.Stuck {
		name := r.point.PortName(s.Port)
		if s.Queue > 0 || res.End == sim.Starved {
			name += fmt.Sprintf(" queue %d", s.Queue)
		}
		run.End.Ports = append(run.End.Ports, name)
	}
	run.Values = r.point.measures.Evaluate(&r.point.Point, c, res)
	for i := range run.Distributions {
		run.Distributions[i].Thin()
	}
	for why := dataplane.Reason(1); why < dataplane.Reasons; why++ {
		if res.Drops[why] > 0 {
			run.Drops = append(run.Drops, Count{why.String(), res.Drops[why]})
		}
	}
	for _, i := range res.Unfinished {
		f := &c.Flows[i]
		run.Unfinished = append(run.Unfinished, UnfinishedFlow{i, r.point.traffic[f.Group].Name, c.Network.Nodes[f.Src].Name,
			c.Network.Nodes[f.Dst].Name, int64(f.Size), int64(f.Receiver.Counters().ReceivedBytes)})
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
