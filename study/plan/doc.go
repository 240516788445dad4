// Package plan makes runs of an experiment's points: their order, their ids, and what they
// will cost.
package plan
