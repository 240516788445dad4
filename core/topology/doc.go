// Package topology describes networks: nodes and links, families of networks (dumbbell, parking
// lot, leaf-spine, fat tree), the addresses of nodes, and shortest paths. It reads topology files
// of the HPCC simulator and of htsim, and writes the former.
//
// A host has one link, and so has a pair of nodes: addresses, NICs and routes know no more. HPCC's testbed has
// two links a host, which are two hosts of one link here; bundles are one link of their rate. Several of both
// are to come with fabrics for AI, where hosts choose among their NICs.
package topology
