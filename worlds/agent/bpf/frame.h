// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Frames of TCP over IP in Ethernet (IEEE 802.3, RFC 791, RFC 8200, RFC 9293), in network byte order.
#pragma once
#include "kernel.h"

enum { ETHERNET = 14, IP4 = 20, IP6 = 40, HEADER = 20 }; // header lengths; HEADER: TCP without options
enum { HOP_BY_HOP = 0, TCP = 6 };                        // values of the next-header field
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };            // flags

struct ip4 {
	u8 version, tos;
	u16 length, id, fragment;
	u8 hop_limit, protocol;
	u16 checksum;
	u32 source, destination;
};

struct ip6 {
	u32 first;
	u16 length;
	u8 next, hop_limit;
	u32 source[4], destination[4];
};

struct tcp {
	u16 source, destination;
	u32 seq, ack;
	u8 offset, flags;
	u16 window, checksum, urgent;
};

// before compares sequence numbers modulo 2^32.
INLINE int before(u32 a, u32 b) { return (s32)(a - b) < 0; }
