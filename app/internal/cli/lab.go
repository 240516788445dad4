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

// labFlags are the flags of weir run for the lab.
type labFlags struct {
	Capture    []string `placeholder:"SWITCH" help:"${labCapture}"`
	Attempts   int      `default:"3" help:"${labAttempts}"`
	Generator  string   `enum:"weir,iperf3" default:"weir" help:"${labGenerator}"`
	Scheduling string   `enum:"nice,fifo,deadline,core" default:"deadline" help:"${labScheduling}"`
	Force      bool     `help:"Lab: run even if the estimate is too large for this machine."`
}

// checkUnused returns an error if a flag for the lab is set.
func (f *labFlags) checkUnused() error {
	if f.Attempts != 3 || f.Generator != "weir" || f.Scheduling != string(live.DefaultScheduling) || f.Force ||
		len(f.Capture) > 0 {
		return fmt.Errorf("%w: --attempts, --capture, --generator, --scheduling and --force need --on lab; add it, or "+
			"leave them out",
			command.ErrInput)
	}
	return nil
}

// runLab runs the experiment in the simulator and then in the lab, and returns the lab's outcome with the simulator's
// for comparison. It checks all flags and the machine first. Between the two it starts a janitor process, sets ctx's
// grace to the lab's, and restarts bar.
func (r *runCmd) runLab(ctx *interrupts, a *app, exp *experiment.Spec, options run.Options,
	bar *progressBar) (*results.Outcome, error) {
	capture, err := run.MatchSwitches(exp, r.Capture)
	if err != nil {
		return nil, fmt.Errorf("%w: --capture: %w", command.ErrInput, err)
	}
	switch {
	case len(r.Trace) > 0:
		return nil, fmt.Errorf("%w: --trace needs the simulator; use --on sim, or --capture in the lab", command.ErrInput)
	case r.Attempts < 1 || r.Attempts > 100:
		return nil, fmt.Errorf("%w: --attempts is %d; 1 to 100 is allowed", command.ErrInput, r.Attempts)
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
		return nil, fmt.Errorf("%w: --generator %s cannot generate this traffic: %w", command.ErrInput, r.Generator, err)
	}
	a.warnOfLab(exp)
	simulated := options
	simulated.Report = nil // the lab's report includes the simulator's results
	beside, err := run.Execute(ctx, exp, simulated)
	if err != nil {
		return nil, err
	}
	ctx.setGrace(labWork(lab.CloseLabs))
	left := startJanitor()
	defer left.dismiss()
	inLab.Counterpart = beside
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
			fmt.Fprintln(a.stderr, "busy: the machine disturbed every attempt of two runs; the remaining runs get one attempt "+
				"each, and claims that depend on disturbed runs are undecided")
		}
	}
	inLab.OnLeft = a.warnOfLeft(bar.clear)
	options.Lab = &inLab
	bar.start, bar.begun = time.Now(), false
	return run.Execute(ctx, exp, options)
}

// warnOfLab prints warnings on features that work differently in the lab.
func (a *app) warnOfLab(s *experiment.Spec) {
	a.warn(run.LabWarnings(s)...)
}

// warnOfLeft returns a function that warns of leftovers of earlier labs, once. It calls before ahead of the warning.
func (a *app) warnOfLeft(before func()) func(left error) {
	var once sync.Once
	return func(left error) {
		once.Do(func() {
			before()
			a.warn(leftWarnings(left)...)
		})
	}
}

// thisProgram is the file of the running program, even if another one has replaced it (proc(5)): the data plane must
// run the same program.
const thisProgram = "/proc/self/exe"

// checkLab prints the estimated frames and times of an experiment in the lab. It returns an error with the features
// that the lab lacks. It needs no root.
func (a *app) checkLab(s *experiment.Spec) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotLinux)
	}
	k, err := run.QueryKernel()
	if err != nil {
		return err
	}
	if err := run.CheckLab(s, k, false); err != nil {
		return err
	}
	a.warnOfLab(s)
	rows := [][]string{{"point", "seed", "frames/s sent by hosts (estimate), time"}}
	runs, total := plan.ListRunsOn(s, experiment.Lab), 0.0
	for _, r := range runs {
		frames, seconds := plan.EstimateLab(r)
		total += seconds
		rows = append(rows, []string{measure.PointName(r.Point), fmt.Sprint(r.Seed),
			fmt.Sprintf("%s, %s", measure.FormatSI(frames), formatTime(seconds))})
	}
	fmt.Fprint(a.stdout, formatGrid(rows, a.lineWidth()))
	fmt.Fprintf(a.stdout, "\n%s\n",
		report.WrapText(fmt.Sprintf("%s is valid, and this kernel (Linux %s) supports it: %d runs, one at a time, %s, "+
			"longer if the machine disturbs them; the lab can forward %s frames/s on time",
			s.Name(), k.Release, len(runs), formatTime(total), measure.FormatSI(run.MaxLabFrames)), a.lineWidth(), ""))
	if err := k.Err(); err != nil {
		fmt.Fprintf(a.stdout, "weir run cannot run it on this machine as this user: %v\n", err)
	}
	return nil
}

// thisKernel returns the features of this machine's kernel. It returns an error if they do not suffice for the lab.
func thisKernel() (*kernel.Kernel, error) {
	switch {
	case runtime.GOOS != "linux":
		return nil, fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotLinux)
	case os.Geteuid() != 0:
		return nil, fmt.Errorf("%w: %w", command.ErrInput, lab.ErrNotRoot)
	}
	k, err := run.QueryKernel()
	if err != nil {
		return nil, err
	}
	if err := k.Err(); err != nil {
		return nil, fmt.Errorf("%w: this machine lacks a feature that the lab needs: %w", command.ErrInput, err)
	}
	return k, nil
}

// args returns the arguments of a command of weir with the same selection, the command first.
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

// Run removes the namespaces and interfaces of dead labs and prints their names. It requires root.
func (*labCleanCmd) Run(a *app) error {
	removed, err := lab.RemoveDead()
	for _, name := range removed {
		fmt.Fprintln(a.stdout, "removed", name)
	}
	if errors.Is(err, lab.ErrNotRoot) || errors.Is(err, lab.ErrNotLinux) {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.stdout, "no dead labs; no namespaces or interfaces to remove")
	}
	return err
}

// labRun selects one of the experiment's runs for a process of its lab.
type labRun struct {
	selection
	Index int    `name:"index" help:"Number of the run in the experiment, from 0."`
	ID    string `name:"id" help:"${labDataplaneID}"`
}

// selectRun loads the experiment and returns the run. It returns an error if the run's id differs from --id, because
// the experiment has changed.
func (d *labRun) selectRun(a *app) (*plan.Run, error) {
	s, err := d.loadSpec(a)
	if err != nil {
		return nil, err
	}
	runs := plan.ListRunsOn(s, experiment.Lab)
	if d.Index < 0 || d.Index >= len(runs) {
		return nil, fmt.Errorf("%w: --index is %d; the experiment has %d runs, from 0", command.ErrInput, d.Index, len(runs))
	}
	if d.ID != "" && d.ID != runs[d.Index].ID("") {
		return nil, fmt.Errorf("%w: %s changed after the lab started; start the lab again", command.ErrInput, d.Name)
	}
	return runs[d.Index], nil
}

// labHostsCmd is the process of a lab's Weir hosts. It reads the interfaces of the hosts from its standard input, and
// runs until the flows have ended or the input is closed.
type labHostsCmd struct {
	labRun
	File string `help:"File for the capture."`
}

// Run executes the hosts of one run and reports on standard output to the lab.
func (h *labHostsCmd) Run(a *app) error {
	one, err := h.selectRun(a)
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

// labDataplaneCmd is the process of a lab's switches and links. It reads the interfaces of the hosts from its
// standard input, and runs until the input is closed.
type labDataplaneCmd struct {
	labRun
	Capture []string `help:"Switches to capture."`
	File    string   `help:"File for the capture."`
	Profile string   `hidden:"" type:"path" help:"File for a CPU profile of the process (weir bench switch --profile)."`
}

// Run executes the switches and links of one run and reports on standard output to the lab. With --profile, it replaces
// that file by a CPU profile.
func (d *labDataplaneCmd) Run(a *app) error {
	one, err := d.selectRun(a)
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
		stop, err := startProfile(d.Profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	return lab.Serve(c, os.Stdin, a.pipe)
}
