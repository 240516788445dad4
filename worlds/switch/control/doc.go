// Package control is what the supervisor of a switch and its data plane, two processes, have between them: requests
// (Request) and replies (Reply) as lines of JSON, counters in shared memory (SharedCounters), and filters that leave
// each process only the system calls that it makes (ConfineDataPlane, ConfineSupervisor).
package control
