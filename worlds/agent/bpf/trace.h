// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The IOAM trace, as sent and as received.
#pragma once
#include "law.h"

// The trace (RFC 9197 §4.4, RFC 9486 §3) as in core/telemetry. A header of hop-by-hop options starts with two bytes
// of padding. An option of type 0x31, which nodes without support skip, has five records of seven words. Padding to
// a multiple of 8 follows.
#define ROOM 160
#define TRACE_AT 4 // of the option's type in the header
#define WORDS 7
#define RECORDS_AT (TRACE_AT + 12)
#define PADDING_AT (RECORDS_AT + 4 * WORDS * HOPS)
#define TRACE_TYPE 0xf22000
#define TRACE_NAMESPACE 0x57

// open_trace writes a header of hop-by-hop options, followed by protocol next, with room for all records.
INLINE void open_trace(u8 *b, u8 next) {
	__builtin_memset(b, 0, ROOM);
	b[0] = next;
	b[1] = ROOM / 8 - 1;
	b[2] = 1; // PadN
	b[TRACE_AT] = 0x31;
	b[TRACE_AT + 1] = PADDING_AT - TRACE_AT - 2;
	b[TRACE_AT + 5] = TRACE_NAMESPACE;
	b[TRACE_AT + 6] = WORDS << 3;
	b[TRACE_AT + 7] = WORDS * HOPS;
	b[TRACE_AT + 8] = TRACE_TYPE >> 16;
	b[TRACE_AT + 9] = TRACE_TYPE >> 8 & 0xff;
	b[TRACE_AT + 10] = TRACE_TYPE & 0xff;
	b[PADDING_AT] = 1; // PadN
	b[PADDING_AT + 1] = ROOM - PADDING_AT - 2;
}

INLINE u32 word(const u8 *b) { return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3]; }

// read_trace parses a received trace into r. Other traces have no records.
INLINE void read_trace(const u8 *b, struct records *r) {
	u32 left;
	r->n = r->missed = 0;
	if (b[TRACE_AT] != 0x31 || b[TRACE_AT + 1] != PADDING_AT - TRACE_AT - 2 || b[TRACE_AT + 3] != 0 ||
	    word(b + TRACE_AT + 4) >> 16 != TRACE_NAMESPACE || b[TRACE_AT + 6] >> 3 != WORDS ||
	    word(b + TRACE_AT + 8) >> 8 != TRACE_TYPE)
		return;
	left = b[TRACE_AT + 7] & 0x7f;
	if (left > WORDS * HOPS || left % WORDS)
		return;
	r->missed = b[TRACE_AT + 6] >> 2 & 1; // more hops than fit
	r->n = HOPS - left / WORDS;
	for (int i = 0; i < HOPS; i++) {
		const u8 *x = b + RECORDS_AT + 4 * WORDS * (HOPS - 1 - i);
		struct hop *h = &r->hop[i];
		u32 fraction = word(x + 12), low = word(x + 24);
		if (i >= r->n)
			break;
		h->node = word(x) & 0xffffff;
		h->port = word(x + 4) & 0xffff;
		h->time = (s64)(s32)word(x + 8) * 1000000000 + fraction;
		h->queue = fraction == 0xffffffff ? 0xffffffff : word(x + 16);
		h->bytes = (u64)word(x + 20) << 12 | low >> 20;
		h->rate = low & 0xfffff;
	}
}
