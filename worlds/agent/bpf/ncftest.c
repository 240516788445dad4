// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Programs for the tests of notice.h and bound.h, run by BPF_PROG_TEST_RUN.
#include "bound.h"
#include "frame.h"

char _license[] SEC("license") = "GPL and additional rights";

volatile const u32 follow = LOSS;

struct bounded {
	struct nacked nacked;
	struct notice notice;
	u32 field, allowed;
};

struct {
	INT_FIELD(type, ARRAY);
	INT_FIELD(max_entries, 1);
	TYPE_FIELD(key, u32);
	TYPE_FIELD(value, struct bounded);
} bounds SEC(".maps");

// reads reads the options of a pure ACK behind an Ethernet header and their length.
SEC("tcx/ingress")
int reads(struct __sk_buff *skb) {
	u32 zero = 0, n;
	struct scan *x = map_lookup(&scans, &zero);
	struct bounded *to = map_lookup(&bounds, &zero);
	if (!x || !to || skb_load(skb, ETHERNET, &n, sizeof(n)) || !n || n > OPTIONS ||
	    skb_load(skb, ETHERNET + sizeof(n), x->options, n))
		return -1;
	if (!read_notice(x, n))
		return 0;
	to->notice = x->notice;
	return 1;
}

// told is a notice with its receiver.
struct told {
	struct notice notice;
	struct sender sender;
};

// reacts reads a struct told behind an Ethernet header.
SEC("tcx/ingress")
int reacts(struct __sk_buff *skb) {
	u32 zero = 0;
	struct told x;
	struct bounded *to = map_lookup(&bounds, &zero);
	if (!to || skb_load(skb, ETHERNET, &x, sizeof(x)))
		return -1;
	return react(&to->nacked, &x.notice, &x.sender, follow);
}

// asked is a received segment.
struct asked {
	u64 now, left, acknowledged;
	u32 window, field, scale, pad;
};

// lowers reads a struct asked behind an Ethernet header.
SEC("tcx/ingress")
int lowers(struct __sk_buff *skb) {
	u32 zero = 0;
	struct asked x;
	struct bounded *to = map_lookup(&bounds, &zero);
	if (!to || skb_load(skb, ETHERNET, &x, sizeof(x)))
		return -1;
	to->allowed = allowed(&to->nacked, x.now, x.window);
	to->field = lowered(x.field, x.scale & 15, to->allowed, x.left, x.acknowledged);
	return 0;
}
