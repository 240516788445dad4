// Package agent links the agent into a program, by which Linux' own TCP follows HPCC++ and NCF: weir agent, and the
// hosts of a lab.
package agent

import (
	"weir/internal/command"
	"weir/study/run"
	"weir/study/run/hostagents"
	agent "weir/worlds/agent/command"
)

func init() {
	command.AgentCommand.Link(agent.Agent{})
	run.Agents.Link(hostagents.Driver{})
}
