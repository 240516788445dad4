// Package packet defines the frames of Weir: views over the bytes of Ethernet, IPv4, IPv6, UDP and TCP headers with
// parse and emit; RoCEv2; Packet, which needs only its first cache line at a hop; extensions in wire form; and the
// number of bytes that a frame counts on a link (Framing).
package packet
