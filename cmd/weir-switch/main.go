// Weir-switch is weir switch as a program of its own, without the simulator: see docs/switch.md.
package main

import (
	"os"

	"weir/app/programs"
	"weir/core/dataplane/tm"
	"weir/internal/command"
	softswitch "weir/worlds/switch/command"
)

// grammar is the command line. The hidden commands are the switch's own processes.
type grammar struct {
	Run        runCmd              `cmd:"" default:"withargs" help:"Run the switch of a file."`
	Supervisor supervisorCmd       `cmd:"" hidden:"" name:"switch-supervisor"`
	Dataplane  dataplaneCmd        `cmd:"" hidden:"" name:"switch-dataplane"`
	Version    command.VersionFlag `help:"Print the version."`
}

type runCmd struct{ command.SwitchFlags }

// Run starts, checks or restores the switch.
func (c *runCmd) Run(e *command.Env) error { return softswitch.Switch{}.Run(&c.SwitchFlags, e) }

type supervisorCmd struct {
	State int `arg:""`
}

// Run is the supervisor.
func (c *supervisorCmd) Run(e *command.Env) error { return softswitch.Switch{}.Supervise(c.State, e) }

type dataplaneCmd struct{}

// Run is the data plane.
func (dataplaneCmd) Run(e *command.Env) error { return softswitch.Switch{}.Serve(e) }

func main() {
	os.Exit(command.Main(&grammar{}, &command.Env{Programs: programs.All(), Schedulers: tm.Schemes()},
		"A switch on its own, between interfaces of this machine."))
}
