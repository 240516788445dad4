// Package topology describes networks: nodes and links, families of networks (dumbbell, parking
// lot, leaf-spine, fat tree), the addresses of nodes, and shortest paths. It reads topology files
// of the HPCC simulator and of htsim, and writes the former.
package topology
