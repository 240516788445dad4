// Package agent links the agent into a program: weir agent, and the agents of a lab's hosts. The agent makes Linux
// TCP follow HPCC++ or NCF.
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
