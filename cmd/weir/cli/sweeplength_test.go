//go:build system && !race

// Left out of race: sweeplength_race_test.go is its counterpart there.

package cli

// sweepLength is the simulated time of each run of twenty.
const sweepLength = "1000s"
