// Package topology describes networks: nodes and links, families of networks (dumbbell, parking lot, leaf-spine, fat
// tree), the addresses of nodes, and shortest paths. It reads topology files of the HPCC simulator and of htsim, and
// writes files of the HPCC simulator.
//
// A host may have several links, each with a NIC and an address (NICs); a NICChoice selects the NIC of a flow. Two
// switches may be joined by a bundle of links. Its ports are parallel paths, like ports to different switches.
package topology
