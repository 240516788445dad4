package cli

import (
	"weir/core/scheme"
	"weir/internal/command"
)

type switchCmd struct{ command.SwitchFlags }

// Run runs the switch, if it is linked in.
func (s *switchCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Run(&s.SwitchFlags, a.env())
}

// switchSupervisorCmd is what a switch's process becomes when it has given root up.
type switchSupervisorCmd struct {
	State int `arg:""`
}

func (s *switchSupervisorCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Supervise(s.State, a.env())
}

// switchDataplaneCmd is the process of a switch's data plane, which the supervisor starts.
type switchDataplaneCmd struct{}

func (switchDataplaneCmd) Run(a *app) error {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return err
	}
	return x.Serve(a.env())
}

// switchWarnings returns the kinds of warnings of a switch, if it is linked in.
func switchWarnings() []scheme.WarningKind {
	x, err := command.SwitchCommand.Get()
	if err != nil {
		return nil
	}
	return x.WarningKinds()
}

// env returns what commands of several programs work with.
func (a *app) env() *command.Env {
	return &command.Env{Stdout: a.stdout, Stderr: a.stderr, Pipe: a.pipe, Version: version(), Warn: a.warn,
		Entry:    a.entry,
		Programs: a.registry.Programs, Schedulers: a.registry.Schedulers}
}
