// Package control is the interface between a switch's supervisor and its data plane, which are two processes. They
// exchange requests (Request) and replies (Reply) as lines of JSON, and share counters in memory (SharedCounters).
// Filters restrict each process to its system calls (ConfineDataPlane, ConfineSupervisor).
package control
