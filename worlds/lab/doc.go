// Package lab runs experiments on real packets between the unmodified TCP stacks of Linux. Hosts are network
// namespaces. All switches and links between them are one fabric in one process, which package live drives in real
// time. It is the second driver of the fabric that sim drives in virtual time (docs/design.md#the-two-worlds).
//
// Packets move from hop to hop in event time, starting at the kernel's arrival time stamps. The wall clock counts
// only when they depart for a host. A run's Report has their lateness and all other disturbances by the machine.
package lab
