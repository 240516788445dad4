// Package workload defines the flows of a run: distributions of flow sizes, and readers of the flow lists of the HPCC
// simulator and of htsim.
package workload
