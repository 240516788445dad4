//go:build system && race

package cli

// sweepLength is the simulated time of each run of twenty, which takes ten times as long with the race detector.
const sweepLength = "100s"
