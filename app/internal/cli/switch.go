package cli

import (
	"weir/core/scheme"
	"weir/internal/command"
)

type switchCmd struct{ command.SwitchFlags }

// Run runs the switch. It returns an error if the switch is not linked in.
func (s *switchCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Run(&s.SwitchFlags, a.newEnv())
}

// switchSupervisorCmd is the process of a switch after it has dropped root.
type switchSupervisorCmd struct {
	State int `arg:""`
}

// Run supervises a switch until it ends. It returns an error if the switch is not linked in.
func (s *switchSupervisorCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Supervise(s.State, a.newEnv())
}

// switchDataplaneCmd is the process of a switch's data plane, started by the supervisor.
type switchDataplaneCmd struct{}

// Run runs the data plane until it ends. It returns an error if the switch is not linked in.
func (switchDataplaneCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Serve(a.newEnv())
}

// switchWarnings returns the kinds of warnings of a switch, if it is linked in.
func switchWarnings() []scheme.WarningKind {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return nil
	}
	return x.WarningKinds()
}

// newEnv returns the environment of commands that several programs share.
func (a *app) newEnv() *command.Environment {
	return &command.Environment{Stdout: a.stdout, Stderr: a.stderr, Pipe: a.pipe, Version: version(), Warn: a.warn,
		Entry:    a.printEntry,
		Programs: a.registry.Programs, Schedulers: a.registry.Schedulers}
}
