// Package plan expands an experiment into runs: their order, IDs, flows, configuration and estimated cost. Its Load
// reads an experiment and tries each point's first run, so that a spec that loads can be run.
package plan
