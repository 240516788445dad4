// Weir-agent is the command weir agent as a separate program without the simulator: see docs/agent.md.
package main

import (
	"os"

	"weir/internal/command"
	agent "weir/worlds/agent/command"
)

func main() {
	var flags command.AgentFlags
	os.Exit(command.Main(command.Program{
		Description: "Have this host's own TCP follow HPCC++ or NCF, by BPF programs, while it runs.",
		Flags:       &flags,
		Run:         func(e *command.Environment) error { return agent.Agent{}.Run(&flags, e) },
	}, &command.Environment{}))
}
