// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Rx-HPCC in integers: draft-miao-iccrg-hpccplus-01 §4.2 and §6.2, as in papers/hpcc (Receiver), for one flow at its
// receiver. Line numbers are the draft's.
//
// Units: windows 1/256 byte, loads 2^-24, times ns, a byte's time at a port fs.
#pragma once
#include "kernel.h"

#define HOPS 5
#define ONE (1ull << 24)
#define MOST_LOAD (64 * ONE)
#define MOST_WINDOW ((1ull << 39) - 1)
#define LEAST_WINDOW 256
#define LEAST_BOUND (1500 << 8) // W_init is at least one packet
#define MOST_TIME 1000000000ull // a round trip is at most one second
#define BURSTS 10              // number of the sender's bursts that T has room for (docs/agent.md#t)
#define BURST_TIME 1000000ull  // ns: Linux sends up to 1 ms of its pacing rate in one piece,
#define MIN_BURST (4 * 1514)   // at least four segments (MIN_SEGMENTS of agent.c)
#define MAX_BURST 65536        // and at most 64 kB (tcp_tso_autosize)
#define COUNTER_BITS 44
#define LEAST_RATE 1000000 // bit/s; ports with a lower or unknown rate are skipped

#define MAX_BYTE_IN (8000000000000000ull / LEAST_RATE)

// hop is a received record. rate holds the record's 20 bits of a port's rate: m and e of m * 10^e.
struct hop {
	s64 time;
	u64 bytes;
	u32 queue, node, port, rate;
};

struct records {
	u32 n, missed;
	struct hop hop[HOPS]; // from the sender's side on
};

// parameters apply to all flows.
struct parameters {
	u64 eta;       // in ONE
	u64 increase;  // W_ai, in 1/256 byte; 0: from flows by the rule of §5
	u32 flows;     // N
	u32 max_stage; // maxStage
	u32 initial;   // bytes of a window before the first records
};

struct law {
	struct hop last[HOPS]; // L
	u64 byte_in[HOPS];     // of L's ports; 0: unknown rate
	u64 at;                // arrival of L
	u64 last_update;       // lastUpdateTime
	u64 queueing;          // delay of the first packet of the last window
	u64 t;                 // T; 0: not started
	u64 rtt;               // of the empty path
	u64 slowest;           // byte_in of the slowest port
	u64 most;              // limit of windows: slowest port's rate * T
	u64 w, wc, u;          // W, Wc, U
	u32 n, missed;         // of L
	u32 stage;             // incStage
	u32 bottleneck;        // hop with the largest load
	u32 told;              // window for the sender, bytes; 0: unknown
	u32 measured;          // measurements
};

enum { UNUSABLE, FIRST, MEASURED };

INLINE u64 rate_of(u32 word) {
	u64 r = word & 0xffff;
	u32 e = word >> 16 & 15;
	for (int i = 0; i < 15; i++)
		if (i < e && r < 1000000000000000ull)
			r *= 10;
	return r;
}

// byte_time returns 0 for an unknown rate. All ones mean that the node has no value.
INLINE u64 byte_time(const struct hop *h) {
	if (h->rate == 0xfffff || h->queue == 0xffffffff)
		return 0;
	u64 r = rate_of(h->rate);
	return r < LEAST_RATE ? 0 : 8000000000000000ull / r;
}

INLINE u64 times(u64 bytes, u64 fs) { // in ps
	u64 most = (1ull << 62) / fs;
	return (bytes < most ? bytes : most) * fs / 1000;
}

INLINE u64 clamp(u64 w, u64 most) { return w > most ? most : w < LEAST_WINDOW ? LEAST_WINDOW : w; }

// load returns busy/over in ONE; both are in ps.
INLINE u64 load(u64 busy, u64 over) {
	u64 v;
	if (!over)
		return MOST_LOAD;
	v = busy < 1ull << 40 ? (busy << 24) / over : over >> 24 ? busy / (over >> 24) : MOST_LOAD;
	return v < MOST_LOAD ? v : MOST_LOAD;
}

// min_time returns the minimum T, in ns, of a path with byte_in at its slowest port; 0: its rate is unknown.
GLOBAL u64 min_time(u64 byte_in) {
	u64 burst = BURST_TIME;
	if (byte_in && byte_in * MAX_BURST / 1000000 < burst)
		burst = byte_in * MAX_BURST / 1000000;
	if (byte_in * MIN_BURST / 1000000 > burst)
		burst = byte_in * MIN_BURST / 1000000;
	return BURSTS * burst;
}

// encode_time rounds a time in ns up to the option's form of T: (16 + m) * 2^e us, with e in the upper four bits. The
// minimum is 17 us, since 0 means an unknown T.
GLOBAL u32 encode_time(u64 ns) {
	u64 us = (ns + 999) / 1000;
	u32 e = 0;
	for (int i = 0; i < 15; i++)
		if (us > 31) {
			us = (us + 1) / 2;
			e++;
		}
	if (us > 31)
		us = 31;
	if (!e && us < 17)
		us = 17;
	return e << 4 | (us - 16);
}

INLINE u64 decode_time(u32 code) { return (u64)(16 + (code & 15)) << (code >> 4 & 15); } // in us

// bound_time returns the maximum T, in us, that a receiver can have computed for a window of w bytes: the rate w/T is
// at most the slowest port's. rtt is the empty path's round trip, ns.
INLINE u64 bound_time(u64 rtt, u64 w, u64 us) {
	u64 byte_in = w ? (us * 1000000000 + w - 1) / w : MAX_BYTE_IN;
	if (rtt > MOST_TIME)
		rtt = MOST_TIME;
	return decode_time(encode_time(rtt + min_time(byte_in < MAX_BYTE_IN ? byte_in : MAX_BYTE_IN)));
}

// set_time sets T: the empty path's round trip plus the minimum T, rounded as at the other end.
GLOBAL int set_time(struct law *l, u64 rtt) {
	u64 t;
	if (!l)
		return 0;
	t = decode_time(encode_time(rtt + min_time(l->slowest))) * 1000;
	l->rtt = rtt;
	l->t = t;
	l->most = l->slowest ? t * 1000000 * 256 / l->slowest : MOST_WINDOW;
	if (l->most < LEAST_BOUND)
		l->most = LEAST_BOUND;
	if (l->most > MOST_WINDOW)
		l->most = MOST_WINDOW;
	l->w = clamp(l->w, l->most);
	l->wc = clamp(l->wc, l->most);
	return 0;
}

// compare reports whether records are a measurement: the same path, and an advanced time at every hop.
INLINE int compare(const struct law *l, const struct records *r, u64 now) {
	u32 moved = 0;
	if (r->n != l->n || r->missed != l->missed)
		return FIRST;
	for (int i = 0; i < HOPS; i++) {
		const struct hop *h = &r->hop[i], *old = &l->last[i];
		if (i >= r->n)
			break;
		if (h->node != old->node || h->port != old->port || h->rate != old->rate)
			return FIRST;
		if (!l->byte_in[i] || h->queue == 0xffffffff) {
			moved++;
			continue;
		}
		if (h->time > old->time) {
			if ((h->bytes - old->bytes) >> (COUNTER_BITS - 1) & 1)
				return FIRST; // the counter restarted
			moved++;
		}
	}
	if (moved == r->n)
		return MEASURED;
	if (now - l->at <= 2 * l->t)
		return UNUSABLE;
	return moved ? MEASURED : FIRST;
}

INLINE void store_records(struct law *l, const struct records *r, u64 now, int what) {
	for (int i = 0; i < HOPS; i++)
		if (i < r->n) {
			l->last[i] = r->hop[i];
			if (what == FIRST)
				l->byte_in[i] = byte_time(&r->hop[i]);
		}
	l->n = r->n;
	l->missed = r->missed;
	l->at = now;
}

INLINE u64 queueing(const struct law *l, const struct records *r) {
	u64 ps = 0;
	for (int i = 0; i < HOPS; i++)
		if (i < r->n && l->byte_in[i] && r->hop[i].queue != 0xffffffff)
			ps += times(r->hop[i].queue, l->byte_in[i]);
	return ps / 1000;
}

GLOBAL int begin(struct law *l, const struct records *r, u64 now, u64 rtt) {
	if (!l || !r)
		return 0;
	store_records(l, r, now, FIRST);
	l->slowest = 0;
	for (int i = 0; i < HOPS; i++)
		if (i < r->n && l->byte_in[i] > l->slowest)
			l->slowest = l->byte_in[i];
	set_time(l, rtt);
	l->u = ONE;
	l->stage = 0;
	l->last_update = now;
	l->queueing = queueing(l, r);
	return 0;
}

// measure_inflight is lines 1 to 10. It returns 0 if no hop has a rate.
GLOBAL int measure_inflight(struct law *l, const struct records *r) {
	u64 u = 0, tau = 0;
	int worst = -1;
	if (!l || !r)
		return 0;
	for (int i = 0; i < HOPS; i++) { // line 3
		const struct hop *h = &r->hop[i], *old = &l->last[i];
		u64 dt = h->time - old->time, sent, v, q;
		if (i >= r->n)
			break;
		if ((s64)dt <= 0 || !l->byte_in[i] || h->queue == 0xffffffff)
			continue;
		if (dt > 1ull << 52)
			dt = 1ull << 52;
		sent = (h->bytes - old->bytes) & ((1ull << COUNTER_BITS) - 1);
		v = load(times(sent, l->byte_in[i]), dt * 1000);               // line 4, second term of line 5
		q = h->queue < old->queue ? h->queue : old->queue;             // line 5
		v += load(times(q, l->byte_in[i]), l->t * 1000);
		if (worst < 0 || v > u) { // lines 6, 7
			u = v;
			tau = dt;
			worst = i;
		}
	}
	if (worst < 0)
		return 0;
	if (u > MOST_LOAD)
		u = MOST_LOAD;
	if (tau > l->t)
		tau = l->t;
	l->bottleneck = worst;
	l->u = (l->u * (l->t - tau) + u * tau + l->t / 2) / l->t; // lines 8, 9
	l->measured++;
	return 1;
}

// compute_wind is lines 11 to 20.
INLINE void compute_wind(struct law *l, const struct parameters *p, int commit) {
	int multiply = l->u >= p->eta || l->stage >= p->max_stage; // line 12
	u64 w = l->wc, increase = p->increase;
	if (!increase && p->flows)
		increase = (l->most * (ONE - p->eta) >> 24) / p->flows;
	if (multiply)
		w = l->wc * p->eta / (l->u ? l->u : 1); // line 13
	w = clamp(clamp(w, MOST_WINDOW) + increase, l->most);
	l->w = w;
	if (commit) { // lines 14, 15, 18, 19
		l->wc = w;
		l->stage = multiply ? 0 : l->stage + 1;
	}
}

// new_int is NewINT, lines 28 to 34, for a packet with records. It returns 1 if they were a measurement.
INLINE int new_int(struct law *l, const struct parameters *p, const struct records *r, u64 now, u64 rtt) {
	int commit, what;
	if (!rtt || !r->n)
		return 0;
	if (rtt > MOST_TIME)
		rtt = MOST_TIME;
	if (!l->t) {
		l->w = l->wc = (u64)p->initial << 8;
		begin(l, r, now, rtt);
		return 0;
	}
	if (rtt < l->rtt)
		set_time(l, rtt); // a shorter round trip was seen
	commit = now > l->last_update + l->t + l->queueing; // line 29
	what = compare(l, r, now);
	if (what == FIRST) {
		begin(l, r, now, l->rtt);
		return 0;
	}
	if (what == UNUSABLE || !measure_inflight(l, r))
		return 0;
	compute_wind(l, p, commit);
	store_records(l, r, now, MEASURED);
	if (commit || now <= l->last_update + l->t)
		l->queueing = queueing(l, r);
	if (commit) { // lines 31, 32
		u64 told = l->w >> 8;
		l->told = told > 0xffffffff ? 0xffffffff : told;
		l->last_update = now;
	}
	return 1;
}
