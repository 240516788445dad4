// Package topology describes networks: nodes and links, families of networks (dumbbell, parking
// lot, leaf-spine, fat tree), the addresses of nodes, and shortest paths. It reads topology files
// of the HPCC simulator and of htsim, and writes the former.
//
// A host may have several links, with a NIC and an address at each (NICs); which one a flow takes is a Choice. Two
// switches may be joined by a bundle of links, whose ports are paths beside each other as those to different
// switches are.
package topology
