package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"weir/worlds/softswitch"
)

type switchCmd struct {
	Config  string `short:"c" placeholder:"FILE" help:"The switch's file (docs/switch.md)."`
	Check   bool   `help:"Validate the file, look at the interfaces, and print what a start would do."`
	Bypass  bool   `help:"Have a bridge of the kernel take over when the switch ends, however it ends."`
	Restore bool   `help:"Switch on again what switches that died have left off."`
}

func (s *switchCmd) Run(a *app) error {
	switch {
	case s.Restore && (s.Check || s.Bypass || s.Config != ""):
		return fmt.Errorf("%w: --restore stands alone", errInput)
	case s.Restore:
		done, err := softswitch.Restore()
		for _, what := range done {
			fmt.Fprintln(a.stdout, "restored", what)
		}
		if err == nil && len(done) == 0 {
			fmt.Fprintln(a.stdout, "there is nothing to restore")
		}
		return switchError(err)
	case s.Config == "":
		return fmt.Errorf("%w: -c FILE is missing", errInput)
	case s.Check:
		return switchError(softswitch.Check(a.switchSchemes(), s.Config, s.Bypass, a.stdout))
	}
	return switchError(softswitch.Start(a.switchSchemes(), s.Config, s.Bypass,
		[]string{os.Args[0], "switch-supervisor"}, a.stderr))
}

// switchError says which errors are about what was given.
func switchError(err error) error {
	if errors.Is(err, softswitch.ErrSetup) {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	return err
}

// switchSupervisorCmd is what a switch's process becomes when it has given root up.
type switchSupervisorCmd struct {
	State int `arg:""`
}

func (s *switchSupervisorCmd) Run(a *app) error {
	err := softswitch.Supervise(a.switchSchemes(), s.State, []string{"switch-dataplane"}, version(), a.stdout, a.stderr)
	code := Done
	if err = switchError(err); errors.Is(err, errInput) {
		code = WrongInput
	} else if err != nil {
		code = RunFailed
	}
	// The last words may go to a pipe that nobody empties: the process ends all the same.
	time.AfterFunc(ending, func() { os.Exit(code) })
	return err
}

// ending is how long who reads a switch's output may take to read the last of it.
const ending = 500 * time.Millisecond

// switchDataplaneCmd is the process of a switch's data plane, which the supervisor starts.
type switchDataplaneCmd struct{}

func (switchDataplaneCmd) Run(a *app) error {
	return softswitch.Serve(a.switchSchemes(), os.Stdin, a.pipe)
}

// switchSchemes are what a switch's file can name.
func (a *app) switchSchemes() softswitch.Schemes {
	return softswitch.Schemes{Programs: a.registry.Programs, Schedulers: a.registry.Schedulers}
}
