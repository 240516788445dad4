// Package job is what ranks of a parallel program do: they compute, send and receive, one after another where one
// depends on another. A Program says it, listed operation by operation (Listed) or by formula; a Frontier follows it
// and says what may begin; a Rank carries it out with its processors, over a network that its driver has: an ideal one
// (package loggops), or that of a simulation.
package job
