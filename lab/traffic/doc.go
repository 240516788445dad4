// Package traffic generates the traffic of an experiment over the kernel's sockets: the
// flows of a spec between the hosts of a lab, with the ports, starts and sizes that they
// have in the simulator, and with results that mean what the simulator's mean.
//
// TCP is the kernel's. Of UDP, the schedule and the counting are transport/udp's own
// endpoints; only the datagrams are the kernel's.
package traffic
