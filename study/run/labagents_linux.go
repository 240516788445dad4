package run

import (
	"fmt"
	"maps"
	"slices"

	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// noAgents is the AgentGroup of hosts without agents.
type noAgents struct{}

func (noAgents) Close() error            { return nil }
func (noAgents) Counts() *results.Agents { return nil }

// startAgents starts those of a run's hosts that have flows of TCP that follow HPCC++.
func startAgents(r *plan.Run, n *lab.Network) (AgentGroup, error) {
	configs, err := labAgents(r.Of)
	if err != nil || len(configs) == 0 {
		return noAgents{}, err
	}
	driver, err := Agents.Get()
	if err != nil {
		return nil, err
	}
	var hosts []AgentHost
	for _, node := range slices.Sorted(maps.Keys(configs)) {
		hosts = append(hosts, AgentHost{node, r.Of.Network().Nodes[node].Name, lab.NIC, configs[node]})
	}
	return driver.Start(hosts, n.Do)
}

// addCounts adds what agents counted to an attempt. It is an error of that if none of many segments led
// to a window: then HPCC++ was not what it measured.
func addCounts(a AgentGroup, to *results.Attempt) {
	x := a.Counts()
	if x == nil {
		return
	}
	if x.Traced > 1000 && x.Told == 0 {
		to.Errors = append(to.Errors, fmt.Sprintf("agents have put traces into %d segments, and no sender was told a window",
			x.Traced))
	}
	to.Agents = x
}
