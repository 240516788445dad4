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
		Description: "Control this host's TCP by HPCC++ or NCF with BPF programs, while weir-agent runs.",
		Flags:       &flags,
		Run:         func(e *command.Environment) error { return agent.Agent{}.Run(&flags, e) },
	}, &command.Environment{}))
}
