package command_test

import (
	"fmt"

	flags "weir/internal/command"
	"weir/worlds/agent/command"
)

// ExampleAgent_Run shows that the command needs to know which connections to control.
func ExampleAgent_Run() {
	fmt.Println(command.Agent{}.Run(&flags.AgentFlags{Follow: "hpcc"}, &flags.Environment{}))
	// Output: invalid input: --interface NAME or --cgroup PATH is missing; give one of them
}
