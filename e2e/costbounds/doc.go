// Package costbounds holds the costs of a simulation: instructions and events per packet-hop, allocations per packet,
// bytes per flow and per host, of a short workload for each scheme that is run often. Times depend on the machine and
// its load; these costs do not, so each has a recorded bound. A higher cost fails, and so does a clearly lower one,
// because a gain without a bound is soon lost. A bound moves only by a record with a reason: see CONTRIBUTING.md.
package costbounds
