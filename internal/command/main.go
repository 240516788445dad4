package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"weir/internal/document"
	"weir/internal/linked"
	"weir/internal/revision"
	"weir/internal/text"
)

// Program is a program that is one command.
type Program struct {
	Description string
	Flags       any // pointer to a struct of flags
	Run         func(e *Environment) error
	// Processes are the hidden commands by which the program starts its own processes. Each gets the arguments after its
	// name.
	Processes map[string]func(args []string, e *Environment) error
}

// Main runs a program with the process's arguments and returns its exit code. It completes env with the outputs of the
// process. It does not end the process.
func Main(p Program, env *Environment) int { return p.execute(env, os.Args[1:], os.Stdout, os.Stderr) }

// execute runs the program with arguments, without the program's name, and returns its exit code. It sets the outputs,
// Warn and Version of env. It prints the error of the command, or else of writing to stdout, on stderr.
func (p Program) execute(env *Environment, args []string, stdout, stderr io.Writer) int {
	pipe := &CheckedOutput{To: stdout}
	out, errs := text.NewWriter(pipe), text.NewWriter(stderr)
	env.Stdout, env.Stderr, env.Pipe, env.Version = out, errs, pipe, Version()
	env.Warn = func(all ...document.Warning) {
		for _, w := range all {
			w.Print(errs)
		}
	}
	err := p.run(env, args)
	if out.Flush(); err == nil && pipe.Err != nil {
		err = fmt.Errorf("standard output: %w", pipe.Err)
	}
	if err == nil {
		return Done
	}
	fmt.Fprintf(errs, "%s: %v\n", revision.Name(), err)
	return ExitCode(err)
}

// run runs the process that the arguments name, or prints the help or the version, or runs the command.
func (p Program) run(env *Environment, args []string) error {
	if len(args) > 0 {
		if process := p.Processes[args[0]]; process != nil {
			return process(args[1:], env)
		}
	}
	set := flag.NewFlagSet(revision.Name(), flag.ContinueOnError)
	set.SetOutput(io.Discard)
	version := set.Bool("version", false, "")
	help := bindFlags(set, p.Flags)
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(env.Stdout, "Usage: %s [flags]\n\n%s\n\nFlags:\n", revision.Name(), p.Description)
		help(env.Stdout)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w; --help lists the flags", ErrInput, err)
	case set.NArg() > 0:
		return fmt.Errorf("%w: %q is not a flag; --help lists the flags", ErrInput, set.Arg(0))
	case *version:
		fmt.Fprintln(env.Stdout, revision.Name(), Version())
		return nil
	}
	return p.Run(env)
}

// CheckedOutput is standard output, which may be a file on a full disk: it keeps the first error.
type CheckedOutput struct {
	To  io.Writer
	Err error
}

// Write writes to To and keeps the first error in Err.
func (o *CheckedOutput) Write(p []byte) (int, error) {
	n, err := o.To.Write(p)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}

// ExitCode returns the exit code for an error, which must not be nil: WrongInput for errors in input and parts that are
// not linked into the program, else RunFailed.
func ExitCode(err error) int {
	var input document.InputErrors
	var missing *linked.MissingError
	if errors.As(err, &input) || errors.As(err, &missing) || errors.Is(err, ErrInput) {
		return WrongInput
	}
	return RunFailed
}

// Version returns the version of the program and of Go, as programs report them.
func Version() string { return revision.Version() + " " + runtime.Version() }
