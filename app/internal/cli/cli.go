// Package cli is the command line of weir. Programs with schemes of their own use its Main.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
)

// commandLine declares the commands.
type commandLine struct {
	List    listCmd    `cmd:"" help:"List experiments, schemes, measures, workloads, topologies, formats or warnings."`
	Show    showCmd    `cmd:"" help:"Show the parameters and sources of an experiment, scheme, measure or format."`
	Check   checkCmd   `cmd:"" help:"Validate an experiment, and estimate the time and memory of its runs."`
	Run     runCmd     `cmd:"" help:"Run an experiment, print its tables and write a report."`
	Report  reportCmd  `cmd:"" help:"Rewrite the report of results folders, and print its tables."`
	Plot    plotCmd    `cmd:"" help:"Draw a figure of finished results as SVG, PDF or PNG."`
	Trace   traceCmd   `cmd:"" help:"Filter and summarise a packet trace of weir run --trace, or a pcapng file."`
	Diff    diffCmd    `cmd:"" help:"Compare two results folders, or the flows of results and an fct.txt."`
	Results resultsCmd `cmd:"" help:"List, remove, bundle, open and merge results folders."`
	Import  importCmd  `cmd:"" help:"Convert another program's configuration into an experiment."`
	Export  exports    `cmd:"" help:"Write results as files for other programs, or an experiment for a cluster."`
	Collect collectCmd `cmd:"" help:"Collect the results of Slurm tasks into a results folder."`
	Task    taskCmd    `cmd:"" help:"Run one task of a folder of weir export slurm; its scripts call this."`
	Schema  schemaCmd  `cmd:"" help:"Print the JSON schema of experiment files (for editors) or of results files."`
	Bench   benchCmd   `cmd:"" help:"Run a benchmark of the simulator, the lab or the page."`
	Lab     labCmd     `cmd:"" help:"Maintain the lab, which runs experiments in network namespaces."`
	Switch  switchCmd  `cmd:"" help:"Run a software switch between interfaces of this machine."`
	Agent   agentCmd   `cmd:"" help:"Control this host's TCP by HPCC++ or NCF with BPF programs, while weir agent runs."`
	Serve   serveCmd   `cmd:"" help:"Serve a web page to choose, start, watch and compare experiments."`
	Worker  workerCmd  `cmd:"" help:"Run simulations for weir run --workers or --nats of another machine."`
	Docs    docsCmd    `cmd:"" help:"Print a page of the documentation, or write all pages as a web site."`
	Help    helpCmd    `cmd:"" help:"Show the help of a command."`
	Version versionCmd `cmd:"" help:"Print the version and the revision of the program."`

	Completion completionCmd `cmd:"" help:"${completion}"`
	Man        manCmd        `cmd:"" help:"Print the manual page: weir man | man -l -"`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print completions for the shell."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`

	LabDataplane labDataplaneCmd `cmd:"" hidden:"" name:"lab-dataplane" help:"Run the data plane of a lab."`
	LabHosts     labHostsCmd     `cmd:"" hidden:"" name:"lab-hosts" help:"Run Weir's own hosts of a lab."`
	LabJanitor   labJanitorCmd   `cmd:"" hidden:"" name:"lab-janitor" help:"Clean up when a lab has died."`

	SwitchSupervisor switchSupervisorCmd `cmd:"" hidden:"" name:"switch-supervisor" help:"${switchSupervisor}"`
	SwitchDataplane  switchDataplaneCmd  `cmd:"" hidden:"" name:"switch-dataplane" help:"${switchDataplane}"`
}

// app is the environment of commands. Text in stdout and stderr has terminal controls escaped.
type app struct {
	registry *experiment.Registry
	stdout   io.Writer
	stderr   io.Writer
	pipe     io.Writer   // stdout without escaping, for messages to other processes of weir
	screen   io.Writer   // stderr without escaping, for lines that are overwritten
	terminal bool        // stderr is a terminal
	style    screenStyle // of stdout
	machine  machine
	args     []string
	code     int
}

// Main runs the command line of this process and returns its exit code.
func Main(r *experiment.Registry) int {
	info, err := os.Stderr.Stat()
	return runCommand(r, os.Args[1:], os.Stdout, os.Stderr, err == nil && info.Mode()&os.ModeCharDevice != 0,
		detectScreen(os.Stdout, os.Getenv))
}

// Run works as Main with explicit arguments and outputs. The flag terminal reports whether stderr is a terminal.
func Run(r *experiment.Registry, args []string, stdout, stderr io.Writer, terminal bool) (code int) {
	return runCommand(r, args, stdout, stderr, terminal, screenStyle{})
}

// runCommand runs a command line, without the program's name, and returns its exit code. It prints an error to stderr.
// The flag terminal reports whether stderr is a terminal, and look is the style of stdout.
func runCommand(r *experiment.Registry, args []string, stdout, stderr io.Writer, terminal bool,
	look screenStyle) (code int) {
	var c commandLine
	pipe := &command.CheckedOutput{To: stdout}
	out, failures := text.NewWriter(pipe), text.NewWriter(stderr)
	a := &app{registry: r, stdout: out, stderr: failures, pipe: pipe, screen: stderr, terminal: terminal, args: args,
		style: look, machine: thisMachine()}
	type exited int
	defer func() { // kong calls Exit after --help, which must not end the process
		if x := recover(); x != nil {
			e, ok := x.(exited)
			if !ok {
				panic(x)
			}
			code = int(e)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser, err := parserFor(r, &c, args, kong.Writers(out, failures), kong.Exit(func(n int) { panic(exited(n)) }))
	if err != nil {
		fmt.Fprintln(failures, "weir:", err)
		return command.WrongInput
	}
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run(a)
	}
	if out.Flush(); err == nil && pipe.Err != nil {
		err = fmt.Errorf("standard output: %w", pipe.Err)
	}
	if err != nil {
		fmt.Fprintln(failures, "weir:", err)
		return failureCode(err)
	}
	return a.code
}

// failureCode returns the exit code of a command that ended with an error: WrongInput for a wrong command line, else
// command.ExitCode.
func failureCode(err error) int {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return command.WrongInput
	}
	return command.ExitCode(err)
}

// parseTarget parses the flags of output files and folders.
var parseTarget = kong.TypeMapper(reflect.TypeFor[command.Target](), kong.MapperFunc(
	func(ctx *kong.DecodeContext, to reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("path", &text); err != nil {
			return err
		}
		if text == "" {
			return errors.New("the path is empty; a path of a file or folder is expected")
		}
		to.SetString(kong.ExpandPath(text))
		return nil
	}))

// selection selects an experiment and changes it.
type selection struct {
	Name string `arg:"" help:"Experiment: a name of the library (weir list), a file, or - for standard input."`
	changes
}

// changes are flags that change an experiment.
type changes struct {
	Set   []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"${selectionSet}"`
	Seed  *uint64  `help:"First seed. Default: the experiment's."`
	Quick bool     `help:"Use the quick variant: every scheme, but only the ends of every sweep."`
}

// loadSpec loads the experiment with its changes and prints its warnings to standard error.
func (s *selection) loadSpec(a *app) (*experiment.Spec, error) {
	src, err := a.registry.OpenExperiment(s.Name)
	if err != nil {
		return nil, err
	}
	exp, err := plan.Load(a.registry, src, experiment.Options{Set: s.Set, Seed: s.Seed, Quick: s.Quick,
		Machine: a.machine.total})
	if err != nil {
		return nil, err
	}
	a.warn(exp.Warnings()...)
	return exp, nil
}

type schemaCmd struct {
	Of string `arg:"" optional:"" default:"experiment" help:"${schemaOf}"`
}

// Run prints a schema: of experiment files, of all results files, or of one kind of results file.
func (s *schemaCmd) Run(a *app) error {
	doc := a.registry.WriteSchema()
	switch names := results.SchemaNames(); {
	case s.Of == "experiment":
	case s.Of == "results":
		doc = results.Schemas()
	case slices.Contains(names, s.Of):
		doc = results.SchemaOf(s.Of)
	default:
		return fmt.Errorf("%w: there is no schema with the name %q; allowed: %s", command.ErrInput, s.Of,
			document.JoinChoices(append([]string{"experiment", "results"}, names...)))
	}
	_, err := a.stdout.Write(doc)
	return err
}
