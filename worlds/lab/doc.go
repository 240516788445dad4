// Package lab runs experiments on real packets, between the unmodified TCP stacks
// of Linux: hosts are network namespaces, and all switches and links between them are
// one fabric in one process, which package live drives as time goes by. It is the second
// driver of what sim drives in virtual time (docs/design.md#the-two-worlds).
//
// Packets walk from hop to hop in event time, from the stamps that the kernel gave them
// on arrival; the wall clock counts only when they leave for a host. How late they leave,
// and all else by which the machine may have disturbed a run, is in its Report.
package lab
