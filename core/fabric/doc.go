// Package fabric is the event-time network: nodes (switches, hosts) joined by links with rate, delay, loss and jitter.
// It does not use the wall clock. The simulator runs it as fast as possible, the lab in real time.
//
// Nodes influence each other only by packets over links, so one node cannot affect another within a link's delay. The
// fabric therefore runs group by group. A group is one node, or the nodes that links shorter than the window join. It
// runs inside windows of the shortest delay between groups, so that a node's queues and registers stay in cache.
//
// A group of one node finds all arrivals of a window on its wires, and sorts them; several nodes of a group share an
// event heap. The order of events within a group is total, (time, kind, port), and events of other groups cannot come
// in between. So the outcome depends neither on the grouping nor on the order in which groups run.
package fabric
