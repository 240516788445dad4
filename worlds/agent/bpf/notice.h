// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// NCF's NACK in a TCP option, as in core/packet (SetNotice): kind 253 (RFC 4727 §7.2), ExID 0x4e4b (RFC 6994), version,
// cause and flags (3, 3 and 2 bits), the lost payload (2 bytes), supply and demand (2 bytes each: exponent of 5 bits,
// mantissa of 11, of kbit/s), with a flag the switch (4), and further packets (6 each).
#pragma once
#include "kernel.h"

#define OPTIONS 40 // maximum length of TCP options in bytes
#define NOTICE_LEAST 11
#define NOTICE_MOST 28
#define SPANS 2
#define SPAN 6

enum { TRIMMED, RECLAIMED, ELEPHANT, MARKED, CAUSES };

struct span {
	s32 offset;
	u32 lost;
};

struct notice {
	u64 supply, demand; // bit/s of frames; 0: unknown
	u32 lost;           // bytes
	u32 node;           // the switch
	u32 stamp, echo;    // TSval and TSecr of the segment
	u8 cause, named, spans, pad;
	struct span more[SPANS];
};

INLINE u32 at16(const u8 *b) { return (u32)b[0] << 8 | b[1]; }
INLINE u32 at32(const u8 *b) { return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3]; }

// shortened reports whether v is a valid encoding of a rate in two bytes; 0 is no rate.
INLINE int shortened(u32 v) { return !(v >> 11) || (v & 0x7ff) >= 0x400; }
INLINE u64 rate_at(u32 v) { return ((u64)(v & 0x7ff) << (v >> 11)) * 1000; }

// scan is the buffer for parsing options. It is in a map, where the verifier assumes any value, so that it need not
// follow each path through the options.
struct scan {
	u8 options[OPTIONS + 24]; // followed by zeros
	u32 at, found, stamps, damaged;
	struct notice notice;
};

struct {
	INT_FIELD(type, PERCPU_ARRAY);
	INT_FIELD(max_entries, 1);
	TYPE_FIELD(key, u32);
	TYPE_FIELD(value, struct scan);
} scans SEC(".maps");

// step parses the next option of n bytes. It returns 0 behind the last one.
INLINE int step(volatile struct scan *s, u32 n) {
	u32 at = s->at, kind, length;
	const u8 *b;
	if (at >= n || at >= OPTIONS)
		return 0;
	b = (const u8 *)s->options + at;
	kind = b[0];
	length = b[1];
	if (!kind)
		return 0;
	if (kind == 1) {
		s->at = at + 1;
		return 1;
	}
	if (at + 1 >= n || length < 2 || at + length > n || kind == 5 || (kind == 2 && length != 4) ||
	    (kind == 3 && length != 3) || (kind == 4 && length != 2) || (kind == 8 && length != 10)) {
		s->damaged = 1;
		return 0;
	}
	if (kind == 8) {
		s->notice.stamp = at32(b + 2);
		s->notice.echo = at32(b + 6);
		s->stamps = 1;
	} else if (kind == 253 && !s->found && length >= NOTICE_LEAST && length <= NOTICE_MOST && at16(b + 2) == 0x4e4b)
		s->found = at + 1;
	s->at = at + length;
	return 1;
}

// read_notice parses the notice in n bytes of options of a pure ACK. It returns 0 without a complete notice or without
// a time stamp, with SACK, and if the options are damaged.
INLINE int read_notice(volatile struct scan *s, u32 n) {
	volatile struct notice *x = &s->notice;
	const u8 *b;
	u32 head, supply, demand, at, length;
	s->at = s->found = s->stamps = s->damaged = 0;
	for (int i = 0; i < OPTIONS; i++)
		if (!step(s, n))
			break;
	at = s->found - 1;
	if (!s->found || !s->stamps || s->damaged || at > OPTIONS - NOTICE_LEAST)
		return 0;
	b = (const u8 *)s->options + at;
	length = b[1] - NOTICE_LEAST;
	head = b[4];
	supply = at16(b + 7);
	demand = at16(b + 9);
	if (head >> 5 != 1 || head & 2 || (head >> 2 & 7) >= CAUSES || !shortened(supply) || !shortened(demand))
		return 0;
	x->cause = head >> 2 & 7;
	x->lost = at16(b + 5);
	x->supply = rate_at(supply);
	x->demand = rate_at(demand);
	x->named = head & 1;
	x->node = 0;
	b += NOTICE_LEAST;
	if (x->named) {
		if (length < 4)
			return 0;
		x->node = at32(b);
		b += 4;
		length -= 4;
	}
	x->spans = length / SPAN;
	if (length > SPANS * SPAN || length % SPAN)
		return 0;
	for (int i = 0; i < SPANS; i++) {
		x->more[i].offset = at32(b + SPAN * i);
		x->more[i].lost = at16(b + SPAN * i + 4);
		if (i < x->spans && !x->more[i].lost)
			return 0;
	}
	return 1;
}
