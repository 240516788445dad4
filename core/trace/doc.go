// Package trace says what happens to packets: the events of ports, the collector
// that brings them into one order, their text form, filters and a summary. It is
// pure; writers that need libraries are in internal/pcapng, and for Parquet in
// study/results.
//
// A port is one direction of a link, node->neighbour. Nodes run one after the
// other inside windows of the simulator, so the events of different nodes come
// out of order; the collector sorts them by time, node and the order within the
// node, which is the order of the simulated network and of nothing else: the
// bytes of a trace depend neither on windows nor on threads (sim's TestTraceSame).
package trace
