// Package plan makes runs of an experiment's points: their order, their ids, their flows and
// configuration, and what they will cost. Its Load reads an experiment and makes each point's
// first run, so that a spec that is there can be carried out.
package plan
