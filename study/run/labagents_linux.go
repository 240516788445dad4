package run

import (
	"fmt"
	"maps"
	"slices"

	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// noAgents is the AgentGroup of a run without agents.
type noAgents struct{}

func (noAgents) Close() error            { return nil }
func (noAgents) Counts() *results.Agents { return nil }

// startAgents starts agents on a run's hosts with TCP flows that follow HPCC++. Without such flows it starts no agent,
// and the returned group has no counters.
func startAgents(r *plan.Run, n *lab.Network) (AgentGroup, error) {
	configs, err := labAgents(r.SpecPoint)
	if err != nil || len(configs) == 0 {
		return noAgents{}, err
	}
	driver, err := Agents.Get()
	if err != nil {
		return nil, err
	}
	var hosts []AgentHost
	for _, node := range slices.Sorted(maps.Keys(configs)) {
		hosts = append(hosts, AgentHost{node, r.SpecPoint.Network().Nodes[node].Name, lab.NIC, configs[node]})
	}
	return driver.Start(hosts, n.Do)
}

// addCounts adds the agents' counters to an attempt. If the agents traced many segments and no segment led to a window,
// it adds an error: the attempt did not measure HPCC++ then. Without counters it has no effect.
func addCounts(a AgentGroup, attempt *results.Attempt) {
	x := a.Counts()
	if x == nil {
		return
	}
	if x.Traced > 1000 && x.Notified == 0 {
		attempt.Errors = append(attempt.Errors,
			fmt.Sprintf("agents put traces into %d segments, but no sender received a window", x.Traced))
	}
	attempt.Agents = x
}
