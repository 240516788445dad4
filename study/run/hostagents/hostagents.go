// Package hostagents runs the agents (worlds/agent) of a lab's hosts. weir/app/agent links it into a program, as
// run.Agents.
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

// Driver is run.AgentDriver.
type Driver struct{}

// Check returns why this machine can run no agent.
func (Driver) Check() error { return agent.Probe().Check() }

// Start starts the agents of a run's hosts.
func (Driver) Start(hosts []run.AgentHost, within func(node int, f func() error) error) (run.AgentGroup, error) {
	a, err := start(hosts, within)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// agents are those of a run's hosts. They are asked every so often what they know, for what they know goes with its
// connection.
type agents struct {
	all   []*agent.Agent
	names []string // of their hosts
	known map[connection]agent.Connection
	stop  chan struct{}
	asks  sync.WaitGroup
	err   error // of asking
}

// connection is one end's of a connection.
type connection struct {
	agent         int
	local, remote netip.AddrPort
}

// agentsAsked is how often.
const agentsAsked = 100 * time.Millisecond

// start starts an agent in each host.
func start(hosts []run.AgentHost, within func(node int, f func() error) error) (a *agents, err error) {
	a = &agents{known: map[connection]agent.Connection{}, stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	for _, h := range hosts {
		config := agent.Defaults()
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
	a.asks.Go(a.follow)
	return a, nil
}

// follow asks until it is stopped.
func (a *agents) follow() {
	tick := time.NewTicker(agentsAsked)
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
			if some, err = x.Connections(some[:0]); err != nil {
				a.err = fmt.Errorf("lab: host %s: %w", a.names[i], err)
				return
			}
			for _, c := range some {
				a.known[connection{i, c.Local, c.Remote}] = c
			}
		}
	}
}

// Close ends them all; connections that are open go on as CUBIC.
func (a *agents) Close() error {
	if a.stop == nil {
		return nil
	}
	close(a.stop)
	a.asks.Wait()
	a.stop = nil
	var errs []error
	for i, x := range a.all {
		if err := x.Close(); err != nil {
			errs = append(errs, fmt.Errorf("lab: host %s: %w", a.names[i], err))
		}
	}
	return errors.Join(append(errs, a.err)...)
}

// Counts returns what they counted, after Close.
func (a *agents) Counts() *results.Agents {
	x := &results.Agents{Hosts: len(a.all)}
	for _, c := range a.known {
		if c.Traced > 0 {
			x.Connections++
		}
		x.Traced += uint64(c.Traced)
		x.Measured += uint64(c.Measured)
		x.Told += uint64(c.Tells)
		x.Refused += uint64(c.Refused)
		x.Fallbacks += uint64(c.Fallbacks)
	}
	return x
}
