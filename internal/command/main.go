package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"weir/internal/document"
	"weir/internal/linked"
	"weir/internal/revision"
	"weir/internal/text"
)

// Main runs a program that is one command: grammar is a pointer to a struct whose commands have a method Run(*Env). It
// completes env with the outputs of the process and returns the exit code.
func Main(grammar any, env *Env, description string) int {
	return execute(grammar, env, description, os.Args[1:], os.Stdout, os.Stderr)
}

func execute(grammar any, env *Env, description string, args []string, stdout, stderr io.Writer) (code int) {
	pipe := &Output{To: stdout}
	out, errs := text.NewWriter(pipe), text.NewWriter(stderr)
	env.Stdout, env.Stderr, env.Pipe, env.Version = out, errs, pipe, Version()
	env.Warn = func(all ...document.Warning) {
		for _, w := range all {
			w.Print(errs)
		}
	}
	type exited int
	defer func() { // kong ends the process after --help by calling Exit
		if x := recover(); x != nil {
			e, ok := x.(exited)
			if !ok {
				panic(x)
			}
			code = int(e)
		}
	}()
	name := revision.Name()
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description), kong.Writers(out, errs),
		kong.Exit(func(n int) { panic(exited(n)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err == nil {
		var ctx *kong.Context
		if ctx, err = parser.Parse(args); err == nil {
			err = ctx.Run(env)
		}
	}
	if out.Flush(); err == nil && pipe.Err != nil {
		err = fmt.Errorf("standard output: %w", pipe.Err)
	}
	if err == nil {
		return Done
	}
	fmt.Fprintf(errs, "%s: %v\n", name, err)
	return ExitCode(err)
}

// Output is standard output, which may be a file on a full disk: it keeps the first error.
type Output struct {
	To  io.Writer
	Err error
}

// Write writes to To.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.To.Write(p)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}

// ExitCode returns the exit code of a command that ended with an error.
func ExitCode(err error) int {
	var input document.InputErrors
	var parse *kong.ParseError
	var missing *linked.MissingError
	if errors.As(err, &input) || errors.As(err, &parse) || errors.As(err, &missing) || errors.Is(err, ErrInput) {
		return WrongInput
	}
	return RunFailed
}

// Version is what programs report of themselves.
func Version() string { return revision.Version() + " " + runtime.Version() }

// VersionFlag prints the version.
type VersionFlag bool

// BeforeReset acts before arguments are asked for.
func (VersionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, revision.Name(), Version())
	app.Exit(0)
	return nil
}

// IsBool has the flag take no value.
func (VersionFlag) IsBool() bool { return true }
