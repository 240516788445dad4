// Package topology describes networks: nodes, links and what they can do; the
// addresses of nodes, and shortest paths. It reads and writes the HPCC
// simulator's topology files.
package topology
