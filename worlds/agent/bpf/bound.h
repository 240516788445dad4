// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What a NACK does to a connection of a stock kernel: a bound of what it has in flight, for two round trips. The factors
// are those of the simulator's senders (nacks: loss, core/cc), the supply's window is that of core/cc/supply.
//
// Times are in ns but where a name says us; windows are bytes of payload.
#pragma once
#include "notice.h"

#define MOST_HOLD 100000000ull // of a bound after the last NACK: 100 ms
#define LEAST_SEGMENTS 2       // RFC 5681 equation 4
#define NONE 0xffffffff

enum { LOSS, SUPPLY }; // what is followed
enum { REPEATED, TAKEN };

// nacked is what is known of a connection that was NACKed, as the loader reads it.
struct nacked {
	u64 at;         // when the last NACK came that counts; 0: none
	u64 reduced;    // when the bound was lowered last, or set
	u64 sent;       // when the segment was sent that it was about
	u64 supply;     // that it told, bit/s of frames
	u64 demand;
	u32 seq;        // of that segment
	u32 bound;      // 0: none was necessary
	u32 trip;       // smoothed round trip when it came, us
	u32 node;       // the switch, if it says so
	u32 cause;
	u32 taken;      // NACKs that count
	u32 repeated;   // that are about a transmission no later than the last one's
	u32 refused;    // that are about nothing that is out
	u32 reductions; // times that the bound was lowered, or set
	u32 expired;    // times that it ended, but for the last
	u32 lowered;    // segments whose window was
	u32 pad;
};

// sender is a connection as the kernel has it when a NACK comes.
struct sender {
	u64 now, sent;    // sent: when the named segment was
	u32 seq;          // of that segment
	u32 window;       // what the controller and the receiver allow, bytes
	u32 segment;      // payload of a full one
	u32 frame;        // and its length as a frame
	u32 trip, least;  // smoothed and least round trip, us
	u32 cubic;        // the controller is CUBIC
	u32 reducing;     // it answers a loss already that was sent no earlier
};

// hold is how long a bound holds after the last NACK: two round trips.
INLINE u64 hold(const struct nacked *n) {
	u64 h = (u64)n->trip * 2000;
	return h < MOST_HOLD ? h : MOST_HOLD;
}

INLINE int in_force(const struct nacked *n, u64 now) { return n->bound && now - n->at < hold(n); }

// allowed is what may be in flight; NONE: the bound is over. In the last quarter of its time it opens evenly up to the
// window, lest all that was held back leaves at once. Not before: who has little in flight hears of one round trip's
// segments about when the next one's acknowledgements come.
INLINE u32 allowed(const struct nacked *n, u64 now, u32 window) {
	u64 age = now - n->at, quarter = hold(n) / 4, flat = 3 * quarter;
	if (!in_force(n, now))
		return NONE;
	if (age <= flat || window <= n->bound)
		return n->bound;
	return n->bound + (u64)(window - n->bound) * ((age - flat) >> 8) / ((quarter >> 8) + 1);
}

// offered is the window that a rate of frames fills within a round trip, in whole segments, and one more for receivers
// that acknowledge every second one.
INLINE u64 offered(u64 rate, u32 trip, u32 segment, u32 frame) {
	u64 bytes = rate / 8 * (trip < 1000000 ? trip : 1000000) / 1000000;
	return ((bytes + frame - 1) / frame + 1) * segment;
}

// share is what a reduction leaves, in 1/1024: CUBIC's and Reno's factors, of RFC 8511 where nothing is lost.
INLINE u32 share(u32 cause, u32 cubic) {
	if (cause == ELEPHANT)
		return cubic ? 870 : 819; // 0.85, 0.8
	return cubic ? 717 : 512;         // 0.7, as Linux has it; 0.5
}

// wanted is the bound that a NACK asks for where base is allowed; NONE: none. again: there was a reduction in this round
// trip.
INLINE u64 wanted(const struct notice *x, const struct sender *s, u32 follow, u64 base, int again) {
	u64 w;
	if (follow == SUPPLY && x->cause != MARKED) {
		u64 rate = x->supply ? x->supply : x->demand / 2;
		if (rate)
			return offered(rate, s->least, s->segment, s->frame);
		return again ? NONE : base / 2;
	}
	if (s->reducing)
		return NONE;
	w = base * share(x->cause, s->cubic) >> 10;
	if (x->cause == ELEPHANT && x->supply) { // no lower than what is offered (cc.Warned)
		u64 o = offered(x->supply, s->trip, s->segment, s->frame);
		if (w < o)
			w = o;
	}
	return w;
}

// react does what a NACK says that has been verified: NACKs count in the order of transmissions, so that one that is
// sent again changes nothing.
INLINE int react(struct nacked *n, const struct notice *x, const struct sender *s, u32 follow) {
	int held = in_force(n, s->now), supplies = follow == SUPPLY && x->cause != MARKED;
	int again = n->bound && s->now - n->reduced < (u64)s->trip * 1000; // within a round trip
	u64 base = s->window, w;
	if (s->sent < n->sent || (s->sent == n->sent && (s32)(s->seq - n->seq) <= 0)) {
		n->repeated++;
		return REPEATED;
	}
	if (held) {
		u32 a = allowed(n, s->now, s->window);
		base = a < base ? a : base;
		if (!again)
			n->bound = base;
	} else if (n->bound) {
		n->expired++;
		if (!again)
			n->bound = 0;
	}
	n->taken++;
	n->at = s->now;
	n->trip = s->trip;
	n->sent = s->sent;
	n->seq = s->seq;
	n->supply = x->supply;
	n->demand = x->demand;
	n->node = x->node;
	n->cause = x->cause;
	w = wanted(x, s, follow, base, again);
	if (w < (u64)LEAST_SEGMENTS * s->segment)
		w = (u64)LEAST_SEGMENTS * s->segment;
	if (again && (!supplies || w >= n->bound))
		return TAKEN; // one reduction a round trip; but of several supplies the least counts
	if (!again && w >= (supplies ? s->window : base)) {
		if (supplies)
			n->bound = 0; // all that it wants is offered
		return TAKEN;
	}
	n->bound = w;
	n->reductions++;
	if (!again)
		n->reduced = s->now;
	return TAKEN;
}

// lowered is the field of a window in which no more than this may be in flight: beside it is what SACK has told to have
// left the path, but for what this segment acknowledges of it.
INLINE u32 lowered(u32 field, u32 scale, u64 allowed, u64 left, u64 acknowledged) {
	left = left > acknowledged ? left - acknowledged : 0;
	allowed = (allowed + left + (1u << scale) - 1) >> scale;
	return allowed < field ? allowed : field;
}
