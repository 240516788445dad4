// Package ring receives and sends Ethernet frames at a network interface. It receives from the ring of a packet
// socket (packet(7), TPACKET_V2), which is shared with the kernel, so that a frame needs no system call. It sends
// many frames with one sendmmsg(2). Linux only.
package ring
