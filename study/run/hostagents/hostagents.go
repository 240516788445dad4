// Package hostagents runs the agents (worlds/agent) of a lab's hosts. Package weir/app/agent links it into a program
// as run.Agents.
package hostagents

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"weir/study/results"
	"weir/study/run"
	"weir/worlds/agent"
)

// Driver implements run.AgentDriver.
type Driver struct{}

// Check returns an error if this machine cannot run agents.
func (Driver) Check() error { return agent.ProbeMachine().Check() }

// Start starts an agent in each of a run's hosts. The function within executes f in the network namespace of a node.
func (Driver) Start(hosts []run.AgentHost, within func(node int, f func() error) error) (run.AgentGroup, error) {
	a, err := startAgents(hosts, within)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// agentGroup are the agents of a run's hosts. The group polls the agents' connections regularly, because the data of
// a connection disappear with it.
type agentGroup struct {
	all     []*agent.Agent
	names   []string // names of the hosts
	known   map[connection]agent.Connection
	stop    chan struct{}
	pollers sync.WaitGroup
	err     error // error of polling
}

// connection is one end of a connection: an agent's index and the two addresses.
type connection struct {
	agent         int
	local, remote netip.AddrPort
}

// pollInterval is the interval at which the group polls the agents.
const pollInterval = 100 * time.Millisecond

// startAgents starts an agent in each host and then polls their connections until Close. On an error it stops the
// agents that run.
func startAgents(hosts []run.AgentHost, within func(node int, f func() error) error) (a *agentGroup, err error) {
	a = &agentGroup{known: map[connection]agent.Connection{}, stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	for _, h := range hosts {
		config := agent.DefaultConfig()
		config.Eta, config.Flows, config.MaxStage = h.Config.Eta, h.Config.Flows, h.Config.MaxStage
		config.RTT, config.Rate, config.Interface = h.Config.RTT, h.Config.Rate, h.Interface
		err := within(h.Node, func() error {
			x, err := agent.Start(config)
			if err == nil {
				a.all, a.names = append(a.all, x), append(a.names, h.Name)
			}
			return err
		})
		if err != nil {
			return a, fmt.Errorf("lab: host %s: %w", h.Name, err)
		}
	}
	a.pollers.Go(a.poll)
	return a, nil
}

// poll adds the agents' connections to known at each pollInterval until the group stops or an agent fails. It sets err
// then.
func (a *agentGroup) poll() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var some []agent.Connection
	for {
		select {
		case <-a.stop:
			return
		case <-tick.C:
		}
		for i, x := range a.all {
			var err error
			if some, err = x.AppendConnections(some[:0]); err != nil {
				a.err = fmt.Errorf("lab: host %s: %w", a.names[i], err)
				return
			}
			for _, c := range some {
				a.known[connection{i, c.Local, c.Remote}] = c
			}
		}
	}
}

// Close stops all agents and returns their errors and the one of polling. Open connections continue as CUBIC. A second
// call has no effect.
func (a *agentGroup) Close() error {
	if a.stop == nil {
		return nil
	}
	close(a.stop)
	a.pollers.Wait()
	a.stop = nil
	var errs []error
	for i, x := range a.all {
		if err := x.Close(); err != nil {
			errs = append(errs, fmt.Errorf("lab: host %s: %w", a.names[i], err))
		}
	}
	return errors.Join(append(errs, a.err)...)
}

// Counts returns the sums over all connections that were polled. Connections counts only those with a traced packet.
// Call it after Close, since the poller changes the data without a lock.
func (a *agentGroup) Counts() *results.Agents {
	x := &results.Agents{Hosts: len(a.all)}
	for _, c := range a.known {
		if c.Traced > 0 {
			x.Connections++
		}
		x.Traced += uint64(c.Traced)
		x.Measured += uint64(c.Measured)
		x.Notified += uint64(c.FeedbackCount)
		x.Refused += uint64(c.Refused)
		x.Fallbacks += uint64(c.Fallbacks)
	}
	return x
}
