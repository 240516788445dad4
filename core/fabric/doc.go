// Package fabric is the event-time network: nodes (switches, hosts) joined by
// links with rate, delay, loss and jitter. It knows no wall clock; the simulator
// runs it as fast as it can, the lab as time goes by.
//
// Nodes influence each other only by packets over links, so no node can feel
// another one within a link's delay. The fabric therefore runs group by group (a
// group is one node, or the nodes that links shorter than the window join)
// inside windows of the shortest delay between groups, so that a node's queues and
// registers stay in cache. A node alone finds all that arrives in a window on its
// wires, and brings it into order; several nodes of a group share an event heap.
// The order of events within a group is total, (time, kind, port), and no event of
// another group can come in between, so the outcome does not depend on the grouping,
// nor on the order in which groups run.
package fabric
