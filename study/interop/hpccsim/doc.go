// Package hpccsim converts input files of the HPCC simulator (config.txt, topology and flows) to experiments, and
// results to the simulator's output files.
package hpccsim
