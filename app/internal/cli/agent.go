package cli

import "weir/internal/command"

type agentCmd struct{ command.AgentFlags }

// Run runs the agent. It returns an error if the agent is not linked in.
func (c *agentCmd) Run(a *app) error {
	agent, err := command.AgentCommand.Get()
	if err != nil {
		return err
	}
	return agent.Run(&c.AgentFlags, a.newEnv())
}
