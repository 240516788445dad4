// Weir-agent is weir agent as a program of its own, without the simulator: see docs/agent.md.
package main

import (
	"os"

	"weir/internal/command"
	agent "weir/worlds/agent/command"
)

type grammar struct {
	command.AgentFlags
	Version command.VersionFlag `help:"Print the version."`
}

// Run runs the agent until it is interrupted.
func (g *grammar) Run(e *command.Env) error { return agent.Agent{}.Run(&g.AgentFlags, e) }

func main() {
	os.Exit(command.Main(&grammar{}, &command.Env{},
		"Have this host's own TCP follow HPCC++ or NCF, by BPF programs, while it runs."))
}
