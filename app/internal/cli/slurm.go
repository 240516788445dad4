package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"weir/internal/command"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
	"weir/study/workers"
)

// slurmFlags are the flags that control how runs become tasks of an array.
type slurmFlags struct {
	SlurmOption []string      `sep:"none" placeholder:"OPTION" help:"${slurmOption}"`
	SlurmTask   time.Duration `default:"10m" placeholder:"TIME" help:"${slurmTask}"`
	SlurmTasks  int           `default:"1000" placeholder:"N" help:"${slurmTasks}"`
}

// options returns the cluster and its options with the given threads per task; below 1: one. It returns an error if
// Slurm is not linked in or an option is wrong.
func (f *slurmFlags) options(threads int) (workers.ClusterOptions, workers.Cluster, error) {
	o := workers.ClusterOptions{Task: f.SlurmTask, Tasks: f.SlurmTasks, Threads: max(threads, 1), Sbatch: f.SlurmOption}
	cluster, err := workers.Slurm.Get()
	if err != nil {
		return o, nil, err
	}
	if err := cluster.Check(o); err != nil {
		return o, nil, fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	return o, cluster, nil
}

// checkUnused returns an error if a flag for Slurm is set.
func (f *slurmFlags) checkUnused() error {
	if len(f.SlurmOption) > 0 || f.SlurmTask != workers.DefaultTaskTime || f.SlurmTasks != workers.DefaultMaxTasks {
		return fmt.Errorf("%w: --slurm-option, --slurm-task and --slurm-tasks need --runner slurm; add it, or leave them "+
			"out", command.ErrInput)
	}
	return nil
}

// exports are the subcommands of weir export.
type exports struct {
	Results exportCmd      `cmd:"" default:"withargs" help:"Write results as files for other programs."`
	Slurm   exportSlurmCmd `cmd:"" help:"Write a folder with all files that a Slurm cluster needs to run an experiment."`
}

type exportSlurmCmd struct {
	selection
	To      command.Target `required:"" placeholder:"DIR" help:"Folder to write; it may be copied to the cluster."`
	Threads int            `default:"1" help:"Threads of one run, and processors of each task."`
	slurmFlags
	AnyProgram bool `help:"${slurmAnyProgram}"`
}

// Run writes the experiment into a folder of Slurm scripts, and prints the commands to submit them. It executes no run.
func (e *exportSlurmCmd) Run(a *app) error {
	s, err := e.loadSpec(a)
	if err != nil {
		return err
	}
	if e.Threads < 1 || e.Threads > maxThreads {
		return fmt.Errorf("%w: --threads is %d; 1 to %d is allowed", command.ErrInput, e.Threads, maxThreads)
	}
	o, cluster, err := e.options(e.Threads)
	if err != nil {
		return err
	}
	o.AnyProgram = e.AnyProgram
	program, err := os.Executable()
	if err != nil {
		return err
	}
	w := &run.Work{Spec: s, Command: reproduce(s.Name(), e.Name, a.args), Executable: revision.Executable()}
	f, err := cluster.Export(string(e.To), w, plan.ListRuns(s), program, o)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return err
	}
	for _, x := range f.Arrays {
		fmt.Fprintf(a.stdout, "%s: %s in %s, each with %s of memory and %d min\n", x.Script, text.Count(x.Runs, "run"),
			text.Count(x.Tasks, "task"), report.FormatBytes(x.MemoryBytes), x.Minutes)
	}
	fmt.Fprintf(a.stdout, "On the cluster, run:\n  cd %s\n", quoteWord(dir))
	for _, x := range f.Arrays {
		fmt.Fprintf(a.stdout, "  sbatch %s\n", x.Script)
	}
	fmt.Fprintf(a.stdout, "Then, on the cluster or with a copy of the folder on this machine, run:\n  weir collect %s\n",
		quoteWord(dir))
	return nil
}

type taskCmd struct {
	Dir        string `arg:"" type:"existingdir" help:"Folder of weir export slurm."`
	Index      int    `required:"" placeholder:"N" help:"Number of the task to run, from 0."`
	Threads    int    `default:"1" help:"Threads of one run. They affect the speed only."`
	AnyProgram bool   `help:"${slurmAnyProgram}"`
}

// Run executes one task of a folder of weir export slurm, within the memory that Slurm grants (limitMemory). Failed
// runs and an interrupt set the exit code and are not errors.
func (t *taskCmd) Run(a *app) error {
	signals := handleSignals(a.screen, inSimulation)
	defer signals.stop()
	if t.Threads < 1 || t.Threads > maxThreads {
		return fmt.Errorf("%w: --threads is %d; 1 to %d is allowed", command.ErrInput, t.Threads, maxThreads)
	}
	limitMemory(os.Getenv)
	f, err := openSweep(a, t.Dir, t.AnyProgram)
	if err != nil {
		return err
	}
	if t.Index < 0 || t.Index >= f.Tasks() {
		return fmt.Errorf("%w: --index is %d; 0 to %d is allowed", command.ErrInput, t.Index, f.Tasks()-1)
	}
	failed, err := f.ExecuteTask(signals, t.Index, t.Threads, func(text string) {
		fmt.Fprintln(a.stdout, text)
	})
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "interrupted: "+goesOn)
		a.code = command.Interrupted
	case err != nil:
		return err
	case failed > 0:
		a.code = command.RunFailed
	}
	return nil
}

// limitMemory makes the garbage collector respect the memory that Slurm grants, since Slurm kills processes that exceed
// it. It has no effect outside of Slurm, or if GOMEMLIMIT is set. The function getenv returns environment variables.
func limitMemory(getenv func(string) string) {
	const share = 0.9 // the program itself, and stacks, take the rest
	mib, err := strconv.ParseFloat(getenv("SLURM_MEM_PER_NODE"), 64)
	if err == nil && mib > 0 && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(share * mib * (1 << 20)))
	}
}

// openSweep opens a folder of weir export slurm. It returns an error if another program wrote it, unless anyProgram is
// set.
func openSweep(a *app, dir string, anyProgram bool) (workers.ClusterFolder, error) {
	cluster, err := workers.Slurm.Get()
	if err != nil {
		return nil, err
	}
	f, err := cluster.Open(a.registry, dir)
	if err != nil {
		return nil, err
	}
	if err := f.CheckProgram(); err != nil && !anyProgram {
		return nil, fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	return f, nil
}

type collectCmd struct {
	Dir        string         `arg:"" type:"existingdir" help:"Folder of weir export slurm."`
	Out        command.Target `default:"results" help:"Folder that the results folder goes into."`
	Check      bool           `help:"${check}"`
	AnyProgram bool           `help:"${slurmAnyProgram}"`

	tableFlags
}

// Run writes the results of finished tasks into a results folder and prints its tables. Missing results are notices and
// not errors.
func (c *collectCmd) Run(a *app) error {
	signals := handleSignals(a.screen, grace{0, 0, cutNothing, "the same command collects the remaining results"})
	defer signals.stop()
	f, err := openSweep(a, c.Dir, c.AnyProgram)
	if err != nil {
		return err
	}
	if err := c.tableFlags.checkFor(a, f.Spec()); err != nil {
		return err
	}
	bar := a.newProgressBar()
	path, from := "", f.Collector()
	command, executable := f.Origin()
	o, err := run.Execute(signals, f.Spec(), run.Options{
		Dir: string(c.Out), Executable: executable, Command: command, Runner: from, OnProgress: bar.update,
		OnNotice: bar.notice(a),
		Report: func(o *results.Outcome) (err error) {
			path, err = report.WriteReport(o, report.Page{Version: version()})
			return err
		},
	})
	bar.clear()
	if err != nil {
		return err
	}
	if err := c.tableFlags.printOutcome(a, o, path); err != nil {
		return err
	}
	for _, text := range from.DescribeMissing(signals) {
		fmt.Fprintln(a.stderr, "notice:", text)
	}
	a.code = exitCode(o, signals.Err() != nil, c.Check)
	return nil
}

// checkRunner returns an error if flags do not suit the selected runner.
func (r *runCmd) checkRunner() error {
	switch {
	case r.Runner != "slurm":
		return r.slurmFlags.checkUnused()
	case r.On == "lab":
		return fmt.Errorf("%w: --runner %s needs the simulator, because the lab runs on this machine only; use --on sim, "+
			"or leave out --runner", command.ErrInput, r.Runner)
	case r.Workers != "" || r.NATS != "" || r.CheckUnused() != nil:
		return fmt.Errorf("%w: --workers and --nats cannot be combined with --runner slurm; only one of them is allowed",
			command.ErrInput)
	case len(r.Trace) > 0:
		return fmt.Errorf("%w: --trace needs --runner local, because traces stay on the machine that writes them; leave "+
			"out one of them", command.ErrInput)
	case r.Jobs != 0:
		return fmt.Errorf("%w: --jobs needs --runner local, because a Slurm task has one run at a time; leave out --jobs",
			command.ErrInput)
	}
	return nil
}
