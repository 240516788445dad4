package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/command"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
	"weir/worlds/lab"
	"weir/worlds/lab/iperf"
	"weir/worlds/lab/kernel"
	"weir/worlds/live"
)

// labFlags are those of weir run for the lab alone.
type labFlags struct {
	Capture    []string `placeholder:"SWITCH" help:"${labCapture}"`
	Attempts   int      `default:"3" help:"Lab: how often a run is carried out at most while the machine disturbs it."`
	Generator  string   `enum:"weir,iperf3" default:"weir" help:"${labGenerator}"`
	Scheduling string   `enum:"nice,fifo,deadline,core" default:"deadline" help:"${labScheduling}"`
	Force      bool     `help:"Lab: run also what is estimated to be too large for this machine."`
}

// unused says which of the flags have no meaning in the simulator.
func (f *labFlags) unused() error {
	if f.Attempts != 3 || f.Generator != "weir" || f.Scheduling != string(live.DefaultScheduling) || f.Force ||
		len(f.Capture) > 0 {
		return fmt.Errorf("%w: --attempts, --capture, --generator, --scheduling and --force are for --on lab",
			command.ErrInput)
	}
	return nil
}

// lab runs the experiment in the simulator and then in the lab.
func (r *runCmd) lab(ctx *interrupts, a *app, exp *experiment.Spec, options run.Options,
	bar *progressBar) (*results.Outcome, error) {
	capture, err := run.Switches(exp, r.Capture)
	if err != nil {
		return nil, fmt.Errorf("%w: --capture: %w", command.ErrInput, err)
	}
	switch {
	case len(r.Trace) > 0:
		return nil, fmt.Errorf("%w: --trace is for the simulator", command.ErrInput)
	case r.Attempts < 1 || r.Attempts > 100:
		return nil, fmt.Errorf("%w: --attempts is %d; 1 … 100 are allowed", command.ErrInput, r.Attempts)
	}
	k, err := thisKernel()
	if err != nil {
		return nil, err
	}
	if r.Generator == "iperf3" {
		if _, err := exec.LookPath("iperf3"); err != nil {
			return nil, fmt.Errorf("%w: --generator: %w", command.ErrInput, iperf.ErrMissing)
		}
	}
	if err := run.CheckLab(exp, k, r.Force); err != nil {
		return nil, err
	}
	inLab := run.Lab{Kernel: k, Attempts: r.Attempts, Capture: capture, Scheduling: live.Scheduling(r.Scheduling)}
	if r.Generator == "iperf3" {
		inLab.Generator = &run.IPerf3
	}
	if err := inLab.Check(exp); err != nil {
		return nil, fmt.Errorf("%w: --generator %s cannot send this: %w", command.ErrInput, r.Generator, err)
	}
	a.warnOfLab(exp)
	simulated := options
	simulated.Report = nil // the lab's has both
	beside, err := run.Execute(ctx, exp, simulated)
	if err != nil {
		return nil, err
	}
	ctx.next(ofLab(lab.CloseAll))
	left := employ()
	defer left.dismiss()
	inLab.Beside = beside
	inLab.Dataplane = func(one *plan.Run, capture *lab.Capture) *exec.Cmd {
		args := append(r.selection.args("lab-dataplane"), "--index", strconv.Itoa(one.Number), "--id", one.ID(""))
		if capture != nil {
			args = append(args, "--file", capture.File)
			for _, s := range capture.Switches {
				args = append(args, "--capture="+s)
			}
		}
		return exec.Command(thisProgram, args...)
	}
	inLab.Hosts = func(one *plan.Run, capture *lab.Capture) *exec.Cmd {
		args := append(r.selection.args("lab-hosts"), "--index", strconv.Itoa(one.Number), "--id", one.ID(""))
		if capture != nil {
			args = append(args, "--file", capture.File)
		}
		return exec.Command(thisProgram, args...)
	}
	inLab.OnRun = func(one *plan.Run, attempt, limit int, at *results.Attempt) {
		if len(at.Disturbed) > 0 {
			bar.clear()
			fmt.Fprintf(a.stderr, "disturbed: %s seed %d, attempt %d of %d: %s\n", measure.PointName(one.Point), one.Seed,
				attempt, limit, strings.Join(at.Disturbed, "; "))
		}
	}
	if r.Attempts > 1 {
		inLab.OnBusy = func() {
			bar.clear()
			fmt.Fprintln(a.stderr, "busy: the machine disturbed every attempt of two runs; the rest have one attempt each, "+
				"and claims that rest on disturbed runs are undecided")
		}
	}
	inLab.OnLeft = a.warnOfLeft(bar.clear)
	options.Lab = &inLab
	bar.start, bar.begun = time.Now(), false
	return run.Execute(ctx, exp, options)
}

// warnOfLab says what may work otherwise in the lab than is meant.
func (a *app) warnOfLab(s *experiment.Spec) {
	a.warn(run.LabWarnings(s)...)
}

// warnOfLeft warns, once, of what dead labs have left that cannot be removed, after before.
func (a *app) warnOfLeft(before func()) func(left error) {
	var once sync.Once
	return func(left error) {
		once.Do(func() {
			before()
			a.warn(leftWarnings(left)...)
		})
	}
}

// thisProgram is the running program's file, even if another one has replaced it (proc(5)): the
// data plane must be the same program.
const thisProgram = "/proc/self/exe"

// checkLab says what the lab lacks for an experiment, or what it will take.
func (a *app) checkLab(s *experiment.Spec) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotLinux)
	}
	k, err := run.AskKernel()
	if err != nil {
		return err
	}
	if err := run.CheckLab(s, k, false); err != nil {
		return err
	}
	a.warnOfLab(s)
	rows := [][]string{{"point", "seed", "frames/s that hosts send (estimate), time"}}
	runs, total := plan.RunsOn(s, experiment.Lab), 0.0
	for _, r := range runs {
		frames, seconds := plan.EstimateLab(r)
		total += seconds
		rows = append(rows, []string{measure.PointName(r.Point), fmt.Sprint(r.Seed),
			fmt.Sprintf("%s, %s", measure.SI(frames), took(seconds))})
	}
	fmt.Fprint(a.stdout, grid(rows, a.width()))
	fmt.Fprintf(a.stdout, "\n%s\n",
		report.Wrap(fmt.Sprintf("%s is valid, and this kernel (Linux %s) has what it needs: %d runs, one at a time, %s, "+
			"longer if the machine disturbs them; the lab carries %s frames/s in good time",
			s.Name(), k.Release, len(runs), took(total), measure.SI(run.LabFrames)), a.width(), ""))
	if err := k.Err(); err != nil {
		fmt.Fprintf(a.stdout, "weir run cannot begin here, as this user: %v\n", err)
	}
	return nil
}

// thisKernel is what this machine's kernel offers to the lab, if that is enough.
func thisKernel() (*kernel.Kernel, error) {
	switch {
	case runtime.GOOS != "linux":
		return nil, fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotLinux)
	case os.Geteuid() != 0:
		return nil, fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotRoot)
	}
	k, err := run.AskKernel()
	if err != nil {
		return nil, err
	}
	if err := k.Err(); err != nil {
		return nil, fmt.Errorf("%w: the lab needs what is not there: %w", command.ErrInput, err)
	}
	return k, nil
}

// args are the arguments of a command of ours that selects the same.
func (s *selection) args(command string) []string {
	out := []string{command, s.Name}
	for _, x := range s.Set {
		out = append(out, "--set="+x)
	}
	if s.Seed != nil {
		out = append(out, "--seed="+strconv.FormatUint(*s.Seed, 10))
	}
	if s.Quick {
		out = append(out, "--quick")
	}
	return out
}

type labCmd struct {
	Clean labCleanCmd `cmd:"" help:"${labClean}"`
}

type labCleanCmd struct{}

func (*labCleanCmd) Run(a *app) error {
	removed, err := lab.Clean()
	for _, name := range removed {
		fmt.Fprintln(a.stdout, "removed", name)
	}
	if errors.Is(err, lab.ErrNotRoot) || errors.Is(err, lab.ErrNotLinux) {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.stdout, "there is nothing to remove")
	}
	return err
}

// labRun is one of the experiment's runs, for a process of its lab.
type labRun struct {
	selection
	Index int    `name:"index" help:"Which of the experiment's runs, from 0."`
	ID    string `name:"id" help:"${labDataplaneID}"`
}

// run finds it.
func (d *labRun) run(a *app) (*plan.Run, error) {
	s, err := d.load(a)
	if err != nil {
		return nil, err
	}
	runs := plan.RunsOn(s, experiment.Lab)
	if d.Index < 0 || d.Index >= len(runs) {
		return nil, fmt.Errorf("%w: run %d of %d", command.ErrInput, d.Index, len(runs))
	}
	if d.ID != "" && d.ID != runs[d.Index].ID("") {
		return nil, fmt.Errorf("%w: %s has been changed since the lab began", command.ErrInput, d.Name)
	}
	return runs[d.Index], nil
}

// labHostsCmd is the process that a lab starts for hosts of Weir's own: it reads from its standard
// input where they are, and runs until their flows have ended or that is closed.
type labHostsCmd struct {
	labRun
	File string `help:"Where the capture goes."`
}

func (h *labHostsCmd) Run(a *app) error {
	one, err := h.run(a)
	if err != nil {
		return err
	}
	c, err := run.HostsConfig(one)
	if err != nil {
		return err
	}
	if h.File != "" {
		c.Capture = &lab.Capture{File: h.File}
	}
	return lab.ServeHosts(c, os.Stdin, a.pipe)
}

// labDataplaneCmd is the process that a lab starts for its switches and links: it reads
// from its standard input where the hosts are, and runs until that is closed.
type labDataplaneCmd struct {
	labRun
	Capture []string `help:"Switches to capture."`
	File    string   `help:"Where the capture goes."`
	Profile string   `hidden:"" type:"path" help:"File for a CPU profile of the process (weir bench switch --profile)."`
}

func (d *labDataplaneCmd) Run(a *app) error {
	one, err := d.run(a)
	if err != nil {
		return err
	}
	c, err := run.LabConfig(one)
	if err != nil {
		return err
	}
	if len(d.Capture) > 0 {
		c.Capture = &lab.Capture{Switches: d.Capture, File: d.File}
	}
	if d.Profile != "" {
		stop, err := profile(d.Profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	return lab.Serve(c, os.Stdin, a.pipe)
}
