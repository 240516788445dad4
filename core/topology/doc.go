// Package topology describes networks: nodes, links and what they can do; families of
// them (dumbbell, parking lot, leaf-spine, fat tree); the addresses of nodes, and
// shortest paths. It reads the topology files of the HPCC simulator and of htsim, and
// writes the former.
package topology
