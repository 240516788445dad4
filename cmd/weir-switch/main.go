// Weir-switch is the command weir switch as a separate program without the simulator: see docs/switch.md.
package main

import (
	"fmt"
	"os"
	"strconv"

	"weir/app/programs"
	"weir/core/dataplane/tm"
	"weir/internal/command"
	softswitch "weir/worlds/switch/command"
)

func main() {
	var flags command.SwitchFlags
	var s softswitch.Switch
	os.Exit(command.Main(command.Program{
		Description: "Run a software switch between interfaces of this machine.",
		Flags:       &flags,
		Run:         func(e *command.Environment) error { return s.Run(&flags, e) },
		Processes: map[string]func([]string, *command.Environment) error{
			command.SwitchSupervisor: func(args []string, e *command.Environment) error {
				if len(args) != 1 {
					return fmt.Errorf("%w: one file descriptor is expected", command.ErrInput)
				}
				state, err := strconv.Atoi(args[0])
				if err != nil {
					return fmt.Errorf("%w: %w", command.ErrInput, err)
				}
				return s.Supervise(state, e)
			},
			command.SwitchDataplane: func(_ []string, e *command.Environment) error { return s.Serve(e) },
		},
	}, &command.Environment{Programs: programs.ListPrograms(), Schedulers: tm.Schemes()}))
}
