package command_test

import (
	"fmt"

	flags "weir/internal/command"
	"weir/worlds/switch/command"
)

// ExampleSwitch_Run shows that the command needs a file.
func ExampleSwitch_Run() {
	fmt.Println(command.Switch{}.Run(&flags.SwitchFlags{Check: true}, &flags.Environment{}))
	// Output: invalid input: -c FILE is missing; name the switch file
}
