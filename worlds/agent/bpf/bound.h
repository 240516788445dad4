// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Effect of NACKs on a connection of an unmodified kernel: a bound on its data in flight for two round trips. The
// factors are the same as in the simulator's senders (nacks: loss, core/cc), the supply's window as in core/cc/supply.
//
// Times are in ns unless a name or comment has us; windows are bytes of payload.
#pragma once
#include "notice.h"

#define MOST_HOLD 100000000ull // duration of a bound after the last NACK, at most: 100 ms
#define LEAST_SEGMENTS 2       // RFC 5681 equation 4
#define NONE 0xffffffff

enum { LOSS, SUPPLY }; // reaction to NACKs
enum { REPEATED, TAKEN };

// nacked is the state of a connection with NACKs, as read by the loader.
struct nacked {
	u64 at;         // arrival of the last accepted NACK; 0: no NACK
	u64 reduced;    // when the bound was last set or lowered
	u64 sent;       // send time of the segment that the NACK is about
	u64 supply;     // from the NACK, bit/s of frames
	u64 demand;
	u32 seq;        // of that segment
	u32 bound;      // 0: no bound
	u32 trip;       // smoothed round trip at the NACK, us
	u32 node;       // number of the switch; 0: not named
	u32 cause;
	u32 taken;      // accepted NACKs
	u32 repeated;   // NACKs about a transmission no later than the last one's
	u32 refused;    // NACKs about data that is not outstanding
	u32 reductions; // times that the bound was set or lowered
	u32 expired;    // times that the bound expired, except the last one
	u32 lowered;    // segments with a lowered window
	u32 pad;
};

// sender is the kernel's state of a connection when a NACK arrives.
struct sender {
	u64 now, sent;    // sent: send time of the named segment
	u32 seq;          // of that segment
	u32 window;       // allowed by controller and receiver, bytes
	u32 segment;      // payload of a full segment
	u32 frame;        // length of its frame
	u32 trip, least;  // smoothed and minimum round trip, us
	u32 cubic;        // the controller is CUBIC
	u32 reducing;     // it reacts to a loss of a segment that was sent no earlier
};

// hold returns the duration of a bound after the last NACK, ns: two round trips.
INLINE u64 hold(const struct nacked *n) {
	u64 h = (u64)n->trip * 2000;
	return h < MOST_HOLD ? h : MOST_HOLD;
}

INLINE int in_force(const struct nacked *n, u64 now) { return n->bound && now - n->at < hold(n); }

// allowed returns the bytes that may be in flight; NONE: the bound has expired. In the last quarter it rises linearly
// to the window, so that the held-back data does not depart at once. It does not rise earlier: a flow with little in
// flight learns of one round trip's segments when the next one's acknowledgements arrive.
INLINE u32 allowed(const struct nacked *n, u64 now, u32 window) {
	u64 age = now - n->at, quarter = hold(n) / 4, flat = 3 * quarter;
	if (!in_force(n, now))
		return NONE;
	if (age <= flat || window <= n->bound)
		return n->bound;
	return n->bound + (u64)(window - n->bound) * ((age - flat) >> 8) / ((quarter >> 8) + 1);
}

// offered returns the window that a rate of frames fills in a round trip, in whole segments, plus one for receivers
// that acknowledge every second segment.
INLINE u64 offered(u64 rate, u32 trip, u32 segment, u32 frame) {
	u64 bytes = rate / 8 * (trip < 1000000 ? trip : 1000000) / 1000000;
	return ((bytes + frame - 1) / frame + 1) * segment;
}

// share returns the rest after a reduction, in 1/1024: CUBIC's and Reno's factors, RFC 8511's without a loss.
INLINE u32 share(u32 cause, u32 cubic) {
	if (cause == ELEPHANT)
		return cubic ? 870 : 819; // 0.85, 0.8
	return cubic ? 717 : 512;         // 0.7, as Linux has it; 0.5
}

// wanted returns the bound that a NACK requires if base is allowed; NONE: no bound. again: the window was reduced in
// this round trip already.
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

// react applies a verified NACK and returns TAKEN or REPEATED. NACKs count in the order of transmissions, so a repeated
// one has no effect.
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
		return TAKEN; // one reduction per round trip, but the minimum of several supplies
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

// lowered returns the window field that limits data in flight to allowed. Data that SACK has reported as received does
// not count, except what this segment acknowledges.
INLINE u32 lowered(u32 field, u32 scale, u64 allowed, u64 left, u64 acknowledged) {
	left = left > acknowledged ? left - acknowledged : 0;
	allowed = (allowed + left + (1u << scale) - 1) >> scale;
	return allowed < field ? allowed : field;
}
