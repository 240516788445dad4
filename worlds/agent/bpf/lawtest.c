// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Programs for the tests of law.h and trace.h, run by BPF_PROG_TEST_RUN.
#include "frame.h"
#include "trace.h"

char _license[] SEC("license") = "GPL and additional rights";

volatile const struct parameters parameters = {};

struct state {
	struct law law;
	struct records records;
};

struct {
	INT_FIELD(type, ARRAY);
	INT_FIELD(max_entries, 1);
	TYPE_FIELD(key, u32);
	TYPE_FIELD(value, struct state);
} states SEC(".maps");

struct step {
	u64 now, rtt;
	struct records records;
};

// steps reads a struct step behind an Ethernet header.
SEC("tcx/ingress")
int steps(struct __sk_buff *skb) {
	struct parameters p = {parameters.eta, parameters.increase, parameters.flows, parameters.max_stage, parameters.initial};
	struct step x;
	u32 zero = 0;
	struct state *s = map_lookup(&states, &zero);
	if (!s || skb_load(skb, ETHERNET, &x, sizeof(x)))
		return 2;
	s->records = x.records;
	return new_int(&s->law, &p, &s->records, x.now, x.rtt);
}

// reads reads a header of hop-by-hop options.
SEC("tcx/ingress")
int reads(struct __sk_buff *skb) {
	u8 b[ROOM];
	u32 zero = 0;
	struct state *s = map_lookup(&states, &zero);
	if (!s || skb_load(skb, ETHERNET, b, ROOM))
		return 2;
	read_trace(b, &s->records);
	return 0;
}
