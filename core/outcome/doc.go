// Package outcome describes a run and its results, in either world: the flows and jobs that its network carries (Load),
// what the run observes (Selection), and the counters, samples and reports that it returns (Result). Simulator and lab
// fill a Result. Measures, claims and reports read it and depend on no world.
package outcome
