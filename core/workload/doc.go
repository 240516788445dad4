// Package workload says which flows a run has: distributions of flow sizes, and
// readers of the flow lists of the HPCC simulator and of htsim.
package workload
