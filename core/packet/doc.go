// Package packet has the frames of this project: views over the bytes of
// Ethernet, IPv4, IPv6, UDP and TCP headers with parse and emit; RoCEv2; Packet, whose
// first cache line is all that a hop touches; extensions in wire form; and how
// many bytes a frame counts on a link (Framing).
package packet
