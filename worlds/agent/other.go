//go:build !linux

package agent

import "errors"

// Agent is a running one, which there is on Linux only.
type Agent struct {
	Interfaces []string
	Controller string
}

// Probe says that this is not Linux.
func Probe() *Machine { return &Machine{} }

// Start fails.
func Start(c Config) (*Agent, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, Probe().Check()
}

// ErrOther is never returned on this system.
var ErrOther = errors.New("agent: there is one already")

// Gone are none.
func (a *Agent) Gone() ([]string, error) { return nil, nil }

// Close does nothing.
func (a *Agent) Close() error { return nil }

// Connections are none.
func (a *Agent) Connections(to []Connection) ([]Connection, error) { return to, nil }

// Strays are none.
func (a *Agent) Strays() (uint64, error) { return 0, nil }
