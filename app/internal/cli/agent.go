package cli

import "weir/internal/command"

type agentCmd struct{ command.AgentFlags }

// Run runs the agent, if it is linked in.
func (c *agentCmd) Run(a *app) error {
	agent, err := command.AgentCommand.Get()
	if err != nil {
		return err
	}
	return agent.Run(&c.AgentFlags, a.newEnv())
}
