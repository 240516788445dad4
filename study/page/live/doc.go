// Package live runs simulations with an audience: a queue of jobs, each of an experiment or of a single run, their
// progress, and the state of the network as frames of a film. A finished job leaves a results folder like weir run.
// Frames stay in memory and do not affect results.
package live
