// Package live carries out simulations for those who look on: a queue of jobs, each of an experiment or of a single
// run, how far they are, and what the network looks like meanwhile, as frames of a film. What is kept of a job is a
// results folder, as weir run leaves it. Frames stay in memory, and reach no result.
package live
