//go:build !linux

package agent

import "errors"

// Agent exists on Linux only.
type Agent struct {
	Interfaces []string
	Controller string
}

// ProbeMachine returns the zero Machine, because this is not Linux.
func ProbeMachine() *Machine { return &Machine{} }

// Start always fails on this system: with ErrConfig for a wrong configuration, else with errUnsupported.
func Start(c Config) (*Agent, error) {
	if err := c.checkFields(); err != nil {
		return nil, err
	}
	return nil, ProbeMachine().Check()
}

// ErrRunning does not occur on this system.
var ErrRunning = errors.New("agent: another agent is running")

// RemoveGone returns no interface and no error.
func (a *Agent) RemoveGone() ([]string, error) { return nil, nil }

// Close has no effect.
func (a *Agent) Close() error { return nil }

// AppendConnections returns list unchanged.
func (a *Agent) AppendConnections(list []Connection) ([]Connection, error) { return list, nil }

// CountStrays returns 0.
func (a *Agent) CountStrays() (uint64, error) { return 0, nil }
