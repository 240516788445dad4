// Package workload says which flows a run has: it reads and writes the flow
// lists of the HPCC simulator.
package workload
