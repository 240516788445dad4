// Package command is the command weir switch, which is also the program weir-switch.
package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"weir/core/scheme"
	"weir/internal/command"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
	"weir/worlds/switch/preflight"
	"weir/worlds/switch/supervisor"
)

// Switch is command.Switch.
type Switch struct{}

// Run checks, starts or restores a switch, as the flags demand. A start does not return unless it fails: this process
// becomes the supervisor. It writes results to e.Stdout. Wrong flags and errors of the environment wrap
// command.ErrInput.
func (Switch) Run(f *command.SwitchFlags, e *command.Environment) error {
	switch {
	case f.Restore && (f.Check || f.Bypass || f.Config != ""):
		return fmt.Errorf("%w: --restore excludes all other flags; give it alone", command.ErrInput)
	case f.Restore:
		done, err := preflight.RestoreDead()
		for _, what := range done {
			fmt.Fprintln(e.Stdout, "restored", what)
		}
		if err == nil && len(done) == 0 {
			fmt.Fprintln(e.Stdout, "there are no records to restore")
		}
		return inputError(err)
	case f.Config == "":
		return fmt.Errorf("%w: -c FILE is missing; name the switch file", command.ErrInput)
	case f.Check:
		return inputError(preflight.CheckFile(schemes(e), f.Config, f.Bypass, e.Stdout))
	}
	return inputError(supervisor.Start(schemes(e), f.Config, f.Bypass,
		[]string{os.Args[0], command.SwitchSupervisor}, e.Stderr))
}

// inputError marks errors of the environment as command.ErrInput.
func inputError(err error) error {
	if errors.Is(err, softswitch.ErrSetup) {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	return err
}

// Supervise runs the supervisor's process; state is the descriptor of its state. At most readTime after it returns,
// the process ends with the exit code for its error, even if the last output is not read.
func (Switch) Supervise(state int, e *command.Environment) error {
	err := supervisor.Supervise(schemes(e), state, []string{command.SwitchDataplane}, e.Version, e.Stdout, e.Stderr)
	code := command.Done
	if err = inputError(err); errors.Is(err, command.ErrInput) {
		code = command.WrongInput
	} else if err != nil {
		code = command.RunFailed
	}
	// The last lines may go to a pipe that no process reads; exit anyway.
	time.AfterFunc(readTime, func() { os.Exit(code) })
	return err
}

// readTime limits the time for readers of the switch's output to read its end.
const readTime = 500 * time.Millisecond

// Serve runs the data plane's process: it reads requests from standard input, and writes replies to e.Pipe.
func (Switch) Serve(e *command.Environment) error {
	return softswitch.Serve(schemes(e), os.Stdin, e.Pipe)
}

// WarningKinds returns the kinds of warnings that a switch issues.
func (Switch) WarningKinds() []scheme.WarningKind {
	return slices.Concat(softswitch.WarningKinds(), preflight.WarningKinds(), supervisor.WarningKinds(),
		control.WarningKinds())
}

// schemes returns the programs and schedulers that a switch's file can name.
func schemes(e *command.Environment) softswitch.Schemes {
	return softswitch.Schemes{Programs: e.Programs, Schedulers: e.Schedulers}
}
