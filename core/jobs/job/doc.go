// Package job models what the ranks of a parallel program do: they compute, send and receive, with dependencies
// between operations. A Program defines the operations, as a list (Listed) or by formula. A Frontier follows it and
// determines which operations may begin. A Rank runs them with its processors over a network of its driver: an ideal
// one (package loggops), or the network of a simulation.
package job
