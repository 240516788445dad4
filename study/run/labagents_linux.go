package run

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/agent"
	"weir/worlds/lab"
)

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

// startAgents starts those of a run's hosts that have flows of TCP that follow HPCC++.
func startAgents(r *plan.Run, n *lab.Network) (a *agents, err error) {
	configs, err := labAgents(r.Of)
	if err != nil {
		return nil, err
	}
	a = &agents{known: map[connection]agent.Connection{}, stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	for _, node := range slices.Sorted(maps.Keys(configs)) {
		config, name := configs[node], r.Of.Network().Nodes[node].Name
		config.Interface = lab.NIC
		err := n.Do(node, func() error {
			x, err := agent.Start(config)
			if err == nil {
				a.all, a.names = append(a.all, x), append(a.names, name)
			}
			return err
		})
		if err != nil {
			return a, fmt.Errorf("lab: host %s: %w", name, err)
		}
	}
	if len(a.all) > 0 {
		a.asks.Go(a.follow)
	}
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

// close ends them all; connections that are open go on as CUBIC.
func (a *agents) close() error {
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

// counted adds what they have counted, after close, to an attempt. It is an error of that if none of many segments led
// to a window: then HPCC++ was not what it measured.
func (a *agents) counted(to *results.Attempt) {
	if len(a.all) == 0 {
		return
	}
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
	if x.Traced > 1000 && x.Told == 0 {
		to.Errors = append(to.Errors, fmt.Sprintf("agents have put traces into %d segments, and no sender was told a window",
			x.Traced))
	}
	to.Agents = x
}
