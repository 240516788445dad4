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
	List    listCmd    `cmd:"" help:"List experiments with their time, schemes, measures, formats, workloads, warnings."`
	Show    showCmd    `cmd:"" help:"Show an experiment, scheme, measure or format with its parameters and sources."`
	Check   checkCmd   `cmd:"" help:"Validate an experiment and list its runs with an estimate."`
	Run     runCmd     `cmd:"" help:"Run an experiment."`
	Report  reportCmd  `cmd:"" help:"Make the report of results folders anew, and show it."`
	Plot    plotCmd    `cmd:"" help:"Make a figure of finished results, as SVG, PDF or PNG."`
	Trace   traceCmd   `cmd:"" help:"Filter and summarise a trace, as weir run --trace leaves it, or a pcapng file."`
	Diff    diffCmd    `cmd:"" help:"Compare two results folders, or the flows of results and a fct.txt."`
	Results resultsCmd `cmd:"" help:"Results: list, find, remove, bundle and merge them."`
	Import  importCmd  `cmd:"" help:"Make an experiment of another program's configuration."`
	Export  exports    `cmd:"" help:"Write results as files for other programs, or an experiment for a cluster."`
	Collect collectCmd `cmd:"" help:"Gather what tasks of weir export slurm have given into a results folder."`
	Task    taskCmd    `cmd:"" help:"Carry out one task of a folder of weir export slurm, as its scripts do."`
	Schema  schemaCmd  `cmd:"" help:"Print a JSON schema: of experiment files, for editors, or of a file of results."`
	Bench   benchCmd   `cmd:"" help:"Measure speed."`
	Lab     labCmd     `cmd:"" help:"The lab: experiments between namespaces of this machine."`
	Switch  switchCmd  `cmd:"" help:"A switch on its own, between interfaces of this machine."`
	Agent   agentCmd   `cmd:"" help:"Have this host's own TCP follow HPCC++ or NCF, by BPF programs, while it runs."`
	Serve   serveCmd   `cmd:"" help:"Serve a page on which to choose, start, watch and compare experiments."`
	Worker  workerCmd  `cmd:"" help:"Carry out runs for weir run --workers, or --nats, of other machines."`
	Docs    docsCmd    `cmd:"" help:"Read the documentation, or write it as a site for a browser."`
	Help    helpCmd    `cmd:"" help:"Show the help of a command."`
	Version versionCmd `cmd:"" help:"Print the version, and the revision of the program."`

	Completion completionCmd `cmd:"" help:"Print what bash, zsh or fish need to complete commands, names and flags."`
	Man        manCmd        `cmd:"" help:"Print the manual page: weir man | man -l -"`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Answer the shell of weir completion."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`

	LabDataplane labDataplaneCmd `cmd:"" hidden:"" name:"lab-dataplane" help:"The process of a lab's data plane."`
	LabHosts     labHostsCmd     `cmd:"" hidden:"" name:"lab-hosts" help:"The process of hosts of Weir's own in a lab."`
	LabJanitor   labJanitorCmd   `cmd:"" hidden:"" name:"lab-janitor" help:"The process that outlives a lab."`

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

// runCommand runs a command line and returns its exit code.
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

// failureCode returns the exit code of a command that ended with an error.
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
			return errors.New("it is empty; a path is expected")
		}
		to.SetString(kong.ExpandPath(text))
		return nil
	}))

// selection selects an experiment and changes it.
type selection struct {
	Name string `arg:"" help:"An experiment of the library (weir list), a file, or - for standard input."`
	changes
}

// changes are flags that change an experiment.
type changes struct {
	Set   []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"${selectionSet}"`
	Seed  *uint64  `help:"First seed instead of the spec's."`
	Quick bool     `help:"The spec's quick variant: every scheme and the ends of every sweep."`
}

// loadSpec loads the experiment with its changes and prints its warnings.
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

func (s *schemaCmd) Run(a *app) error {
	doc := a.registry.WriteSchema()
	switch names := results.SchemaNames(); {
	case s.Of == "experiment":
	case s.Of == "results":
		doc = results.Schemas()
	case slices.Contains(names, s.Of):
		doc = results.SchemaOf(s.Of)
	default:
		return fmt.Errorf("%w: there is no schema of %q; allowed: %s", command.ErrInput, s.Of,
			document.JoinChoices(append([]string{"experiment", "results"}, names...)))
	}
	_, err := a.stdout.Write(doc)
	return err
}
