// Package ring receives and sends Ethernet frames at a network interface. They come in by the
// ring of a packet socket (packet(7), TPACKET_V2), memory that is shared with the kernel, so
// that a frame costs no system call; they leave by sendmmsg(2), many with one. Linux only.
package ring
