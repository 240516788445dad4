package cli

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"weir/internal/command"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

type runCmd struct {
	selection
	On      string         `enum:"sim,lab" default:"sim" help:"${runOn}"`
	Jobs    int            `help:"${runJobs}"`
	Threads string         `default:"auto" placeholder:"N" help:"${runThreads}"`
	Out     command.Target `default:"results" help:"Folder that the results folder goes into."`
	Fresh   bool           `help:"Repeat runs that are already finished."`
	Check   bool           `help:"${check}"`

	tableFlags

	Trace       []string `placeholder:"PORT" help:"${runTrace}"`
	TraceFormat []string `placeholder:"FORMAT" help:"${runTraceFormat}"`
	TraceSnap   *int     `placeholder:"BYTES" help:"${runTraceSnap}"`

	Runner string `enum:"local,slurm" default:"local" help:"${runRunner}"`

	slurmFlags
	labFlags
	workerFlags
}

// parseThreads parses --threads, the number of threads per run; 0 means auto.
func (r *runCmd) parseThreads() (int, error) {
	if r.Threads == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(r.Threads)
	if err != nil || n < 1 || n > maxThreads {
		return 0, fmt.Errorf("%w: --threads is %q; auto, or a number from 1 to %d, is allowed",
			command.ErrInput, r.Threads, maxThreads)
	}
	return n, nil
}

// maxThreads is above the number of cores of any machine.
const maxThreads = 1024

// Run runs the experiment and prints its tables. It checks all flags before the first run starts. The exit code gives
// failed runs, an interrupt and, with --check, claims.
func (r *runCmd) Run(a *app) error {
	signals := handleSignals(a.screen, inPreparation)
	defer signals.stop()
	s, err := r.loadSpec(a)
	if err != nil {
		return err
	}
	if r.Jobs < 0 {
		return fmt.Errorf("%w: --jobs is %d; 0 or more is allowed", command.ErrInput, r.Jobs)
	}
	threads, err := r.parseThreads()
	if err != nil {
		return err
	}
	if err := r.tableFlags.checkFor(a, s); err != nil {
		return err
	}
	if err := r.checkRunner(); err != nil {
		return err
	}
	jobs, err := r.limitJobs(a, s, threads)
	if err != nil {
		return err
	}
	tracing, err := r.parseTracing(a, s)
	if err != nil {
		return err
	}
	signals.setGrace(inSimulation)
	bar := a.newProgressBar()
	path := ""
	options := run.Options{
		Jobs: jobs, Threads: threads, Dir: string(r.Out), Fresh: r.Fresh, Executable: revision.Executable(),
		OnProgress: bar.update, Trace: r.Trace, Tracing: tracing,
		Command:  reproduce(s.Name(), r.Name, a.args),
		OnNotice: bar.notice(a),
		Report: func(o *results.Outcome) (err error) {
			path, err = report.WriteReport(o, report.Page{Version: version()})
			return err
		},
	}
	ended, err := r.selectRunner(a, bar, &options)
	if err != nil {
		return err
	}
	defer func() { ended() }()
	if options.Runner != nil {
		signals.setGrace(inSweep)
	}
	var o *results.Outcome
	if r.On == experiment.Lab {
		o, err = r.runLab(signals, a, s, options, bar)
	} else if err = r.labFlags.checkUnused(); err == nil {
		o, err = run.Execute(signals, s, options)
	}
	bar.clear()
	interrupted := signals.Err() != nil
	if err != nil {
		return err
	}
	if err := r.tableFlags.printOutcome(a, o, path); err != nil {
		return err
	}
	a.code = exitCode(o, interrupted, r.Check)
	if interrupted {
		fmt.Fprintf(a.stderr, "interrupted: %s\n", o.DescribeKept())
	}
	return nil
}

// selectRunner sets options.Runner if runs are executed elsewhere. The caller has to call the returned function at the
// end; it is not nil without an error.
func (r *runCmd) selectRunner(a *app, bar *progressBar, options *run.Options) (ended func() error, err error) {
	if r.Runner == "slurm" {
		o, cluster, err := r.slurmFlags.options(options.Threads)
		if err != nil {
			return nil, err
		}
		options.Runner = cluster.Runner(o, options.OnNotice)
		return func() error { return nil }, nil
	}
	if r.On == experiment.Lab && r.UsesWorkers() {
		return nil, fmt.Errorf("%w: --workers and --nats need the simulator; use --on sim, or leave them out",
			command.ErrInput)
	}
	runner, ended, err := r.newRunner(a, bar, options.Jobs)
	switch {
	case err != nil:
		return nil, err
	case runner == nil:
		return func() error { return nil }, nil
	}
	options.Runner = runner
	return ended, nil
}

// limitJobs returns the number of concurrent runs on this machine (0: one per core), or 0 with Slurm. If --jobs is 0
// and a run has several threads, it sets r.Jobs to the cores divided by the threads. It prints a notice if the memory
// limits the number.
func (r *runCmd) limitJobs(a *app, s *experiment.Spec, threads int) (int, error) {
	if r.Runner == "slurm" {
		return 0, nil
	}
	if r.Jobs == 0 && threads > 1 {
		r.Jobs = max(runtime.GOMAXPROCS(0)/threads, 1)
	}
	jobs, notice, err := a.machine.limitJobs(s, r.Jobs)
	if notice != "" {
		fmt.Fprintln(a.stderr, "notice:", notice)
	}
	return jobs, err
}

// printTables prints an outcome with default flags.
func (a *app) printTables(o *results.Outcome, path string) error {
	return (&tableFlags{Format: asText, Color: "auto"}).printOutcome(a, o, path)
}

// printFooter prints the lines after the tables: traces, existing results, and the path of the report, which is the
// argument path.
func (a *app) printFooter(o *results.Outcome, path string) {
	if o.Traces > 0 {
		fmt.Fprintf(a.stdout, "traces of %s are in %s\n", text.Count(o.Traces, "run"), filepath.Join(o.Dir, "traces"))
	}
	if o.Untraced > 0 {
		fmt.Fprintf(a.stdout, "%s without a trace so far; the same command continues with them\n",
			text.Count(o.Untraced, "run"))
	}
	if o.Found > 0 {
		fmt.Fprintf(a.stdout, "%s reused from earlier (--fresh repeats them)\n", text.Count(o.Found, "run"))
	}
	fmt.Fprintln(a.stdout, path)
}

// exitCode returns the exit code of an execution: Interrupted, else RunFailed for a run that failed, is missing or is
// stuck. With check, it otherwise depends on the verdicts.
func exitCode(o *results.Outcome, interrupted, check bool) int {
	cut := len(o.Failed) > 0 || o.Missing > 0
	for _, r := range o.Runs {
		cut = cut || r.End.Stuck()
		if n := len(r.Attempts); n > 0 && len(r.Attempts[n-1].Errors) > 0 {
			cut = true //
		}
	}
	switch {
	case interrupted:
		return command.Interrupted
	case cut:
		return command.RunFailed
	}
	if check {
		return judgedCode(o)
	}
	return command.Done
}

// judgedCode returns the exit code from the verdicts of the claims and, in the lab, of the agreement with the
// simulator. A failure takes priority over an undecided verdict.
func judgedCode(o *results.Outcome) int {
	var verdicts []claim.Verdict
	for _, c := range o.Claims {
		verdicts = append(verdicts, c.Verdict)
	}
	if all := o.Agreements(); len(all) > 0 {
		verdicts = append(verdicts, results.CountAgreements(all).Verdict)
	}
	switch {
	case slices.Contains(verdicts, claim.Fails):
		return command.ClaimFailed
	case slices.Contains(verdicts, claim.Undecided):
		return command.Unjudged
	}
	return command.Done
}

// reproduce returns the command that yields the same report: the experiment and all flags of args that change it,
// without flags on its execution. The argument known is the experiment's own name. If name differs from it, name is a
// file and is reduced to its last element, so that results do not describe the machine.
func reproduce(known, name string, args []string) string {
	if name != known { // not an experiment of the library
		name = filepath.Base(name)
	}
	words := []string{quoteWord(revision.Name()), "run", quoteWord(name)}
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch name {
		case "--set", "--seed", "--on", "--generator":
			words = append(words, quoteWord(args[i]))
			if !joined && i+1 < len(args) {
				i++
				words = append(words, quoteWord(args[i]))
			}
		case "--quick":
			words = append(words, args[i])
		}
	}
	return strings.Join(words, " ")
}

// quoteWord returns a word as a POSIX shell reads it, in quotes only if it needs them.
func quoteWord(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			strings.ContainsRune("-_./=:,+%@", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
