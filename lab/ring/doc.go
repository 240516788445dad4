// Package ring receives and sends Ethernet frames at a network interface by the two rings
// of a packet socket (packet(7), TPACKET_V2): memory that is shared with the kernel, so
// that a frame costs no system call. Linux only.
package ring
