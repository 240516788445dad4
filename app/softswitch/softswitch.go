// Package softswitch links the switch of real interfaces, weir switch, into a program.
package softswitch

import (
	"weir/internal/command"
	softswitch "weir/worlds/switch/command"
)

func init() { command.SwitchCommand.Link(softswitch.Switch{}) }
