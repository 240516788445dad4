// Package trace records what happens to packets. It has the events of ports, the collector that brings them into one
// order, their text form, filters and a summary. It does no input or output of its own; writers that need libraries
// are in internal/pcapng, and for Parquet in study/results.
//
// A port is one direction of a link, node->neighbour. Nodes run one after the other inside windows of the simulator,
// so the events of different nodes arrive out of order. The collector sorts them by time, node and the order within
// the node. This order depends only on the simulated network: the bytes of a trace depend neither on windows nor on
// threads (sim's TestTraceSame).
package trace
