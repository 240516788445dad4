// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// NCF (BS'19 §4.3) for Linux' own TCP over IPv4 and IPv6, with any congestion control. At the ingress of an interface,
// a NACK about an outstanding segment sets a bound on the connection's data in flight (bound.h). Later received
// segments get a window within that bound. The connection itself is unchanged: the first segment after the end of the
// bound, or of this program, restores it.
#include "bound.h"
#include "frame.h"
#include "stack.h"

char _license[] SEC("license") = "GPL and additional rights"; // those of Apache-2.0

// Settings, set by the loader.
volatile const u32 follow = LOSS;
volatile const u64 cgroup = 0; // number of the cgroup that selects connections; 0: all

// Counters of NACKs in addition to the connections'.
volatile u64 until = 0;  // end of the last bound; segments are examined before it
volatile u64 strays = 0; // NACKs of no connection that is open here

#define BACK (1u << 30) // offset in a notice's acknowledgement (core/packet)
#define STALE (1 << 10) // offset in its time stamp
#define LEVELS 16       // maximum depth of cgroups
#define DEPTH 40        // maximum depth of the tree of outstanding segments

struct {
	INT_FIELD(type, SK_STORAGE);
	INT_FIELD(map_flags, NO_PREALLOC);
	TYPE_FIELD(key, int);
	TYPE_FIELD(value, struct nacked);
} nacks SEC(".maps");

// place identifies the ends of a segment, struct bpf_sock_tuple.
union place {
	struct {
		u32 source, destination;
		u16 ports[2];
	} four;
	struct {
		u32 source[4], destination[4];
		u16 ports[2];
	} six;
};

struct segment {
	struct tcp tcp;
	union place place;
	u32 place_bytes;
	u32 ip;   // length of IP's headers
	u32 at;   // offset of the TCP header
	u32 data; // bytes behind the TCP header
};

INLINE int dissect(struct __sk_buff *skb, struct segment *s) {
	u32 length, header;
	if (skb->protocol == swap16(0x0800)) {
		struct ip4 ip;
		if (skb_load(skb, ETHERNET, &ip, sizeof(ip)) || ip.protocol != TCP || ip.fragment & swap16(0x3fff))
			return 0;
		s->ip = (ip.version & 15) * 4;
		if (s->ip < IP4)
			return 0;
		length = swap16(ip.length);
		s->place.four.source = ip.source;
		s->place.four.destination = ip.destination;
		s->place_bytes = sizeof(s->place.four);
	} else if (skb->protocol == swap16(0x86dd)) {
		struct ip6 ip;
		if (skb_load(skb, ETHERNET, &ip, sizeof(ip)))
			return 0;
		s->ip = IP6;
		length = IP6 + swap16(ip.length);
		if (ip.next == HOP_BY_HOP) {
			u8 head[2];
			if (skb_load(skb, ETHERNET + IP6, head, sizeof(head)) || head[0] != TCP)
				return 0;
			s->ip += 8 * (head[1] + 1);
		} else if (ip.next != TCP)
			return 0;
		__builtin_memcpy(s->place.six.source, ip.source, 16);
		__builtin_memcpy(s->place.six.destination, ip.destination, 16);
		s->place_bytes = sizeof(s->place.six);
	} else
		return 0;
	s->at = ETHERNET + s->ip;
	if (skb_load(skb, s->at, &s->tcp, sizeof(s->tcp)))
		return 0;
	header = s->ip + (s->tcp.offset >> 4) * 4;
	if (s->tcp.offset >> 4 < 5 || length < header)
		return 0;
	s->data = length - header;
	u16 *ports = s->place_bytes == sizeof(s->place.four) ? s->place.four.ports : s->place.six.ports;
	ports[0] = s->tcp.source;
	ports[1] = s->tcp.destination;
	return 1;
}

INLINE struct bpf_sock *connection_of(struct __sk_buff *skb, struct segment *s) {
	return s->place_bytes == sizeof(s->place.four)
		       ? lookup_tcp(skb, (void *)&s->place, sizeof(s->place.four), CURRENT_NETNS, 0)
		       : lookup_tcp(skb, (void *)&s->place, sizeof(s->place.six), CURRENT_NETNS, 0);
}

// meant reports whether a connection is in the cgroup or below. bpf_sk_ancestor_cgroup_id is not available to programs
// of this type.
INLINE int meant(struct tcp_sock___ncf *t) {
	struct cgroup___ncf *of = ((struct sock___ncf *)t)->sk_cgrp_data.cgroup;
	if (!cgroup)
		return 1;
	for (int i = 0; i < LEVELS && of; i++) {
		struct kernfs_node___ncf *node = READ(of, kn);
		struct cgroup_subsys_state___ncf *above;
		if (READ(node, id) == cgroup)
			return 1;
		above = READ(of, self.parent);
		if (!above)
			break;
		of = READ(above, cgroup);
	}
	return 0;
}

// out is an outstanding segment.
struct out {
	u64 sent;
	u32 stamp, bytes;
};

// look finds the segment that starts at seq among the outstanding ones that SACK has not reported as received. It
// returns 0 without one.
INLINE int look(struct tcp_sock___ncf *t, u32 seq, struct out *o) {
	struct rb_node___ncf *node = ((struct sock___ncf *)t)->tcp_rtx_queue.rb_node;
	for (int i = 0; i < DEPTH && node; i++) {
		struct sk_buff___ncf *skb = (void *)node - __builtin_preserve_field_info(((struct sk_buff___ncf *)0)->rbnode, 0);
		struct tcp_skb_cb___ncf *cb = (void *)&skb->cb;
		u32 first = READ(cb, seq), end = READ(cb, end_seq), size;
		if (before(seq, first)) {
			node = READ(node, rb_left);
			continue;
		}
		if (!before(seq, end)) {
			node = READ(node, rb_right);
			continue;
		}
		size = READ(cb, tcp_gso_size);
		if (READ(cb, sacked) & SACKED || (seq != first && (!size || (seq - first) % size)))
			return 0;
		if (READ(cb, tcp_flags) & FIN)
			end--;
		o->bytes = size && size < end - seq ? size : end - seq;
		o->sent = READ(skb, skb_mstamp_ns);
		o->stamp = o->sent / (EXISTS(t->tcp_usec_ts) && BITS(t, tcp_usec_ts) ? 1000 : 1000000) + t->tsoffset;
		return 1;
	}
	return 0;
}

// genuine reports whether a notice is about an outstanding segment: it names the transmission by sequence number and
// time stamp, with the lost payload. Acknowledgement and echo must be the named segment's: not in the future, nor from
// before the receive window (RFC 5961 §4, RFC 7323 §5).
INLINE int genuine(struct tcp_sock___ncf *t, const struct segment *s, const struct notice *x, struct out *o, u32 *seq) {
	u32 acked = swap32(s->tcp.seq) + 1, echoed = x->stamp + STALE;
	*seq = swap32(s->tcp.ack) + BACK;
	if (!BITS(t, rx_opt.tstamp_ok) || before(*seq, t->snd_una) || !before(*seq, t->snd_nxt))
		return 0;
	if (before(t->rcv_nxt, acked) || before(acked, t->rcv_nxt - t->window_clamp) || before(t->rx_opt.ts_recent, echoed))
		return 0;
	if (!look(t, *seq, o) || o->stamp != x->echo)
		return 0;
	return x->cause <= RECLAIMED ? x->lost == o->bytes : !x->lost && !x->spans;
}

INLINE u32 window_of(struct tcp_sock___ncf *t) {
	u64 w = (u64)t->snd_cwnd * t->mss_cache;
	return w < NONE ? w : NONE - 1;
}

INLINE int is_cubic(struct tcp_sock___ncf *t) {
	u64 name = 0;
	const struct tcp_congestion_ops___ncf *ops = ((struct inet_connection_sock___ncf *)t)->icsk_ca_ops;
	probe(&name, 6, &ops->name);
	return name == 0x6369627563; // "cubic"
}

// obey applies a notice to a connection and returns the verdict on the segment.
INLINE int obey(struct bpf_sock *sk, struct tcp_sock___ncf *t, const struct segment *s, const struct notice *x,
		struct nacked *n, u64 now) {
	struct sender from = {.now = now};
	struct out o = {};
	u64 end;
	if (!genuine(t, s, x, &o, &from.seq)) {
		n->refused++;
		return TCX_NEXT;
	}
	from.sent = o.sent;
	from.segment = t->mss_cache;
	from.frame = t->mss_cache + t->tcp_header_len + s->ip + ETHERNET;
	from.window = window_of(t);
	if (!in_force(n, now) && t->snd_wnd < from.window)
		from.window = t->snd_wnd;
	from.trip = t->srtt_us >> 3;
	from.least = t->rtt_min.s[0].v;
	if (!from.trip)
		from.trip = MOST_HOLD / 2000;
	if (!from.least || from.least > from.trip)
		from.least = from.trip;
	from.cubic = is_cubic(t);
	from.reducing = BITS((struct inet_connection_sock___ncf *)t, icsk_ca_state) >= CA_CWR && before(from.seq, t->high_seq);
	react(n, x, &from, follow);
	end = n->at + hold(n);
	if (n->bound && end > until)
		until = end;
	return TCX_DROP;
}

INLINE int notified(struct __sk_buff *skb, struct segment *s, const struct notice *x, u64 now) {
	const u32 open = 1 << ESTABLISHED | 1 << FIN_WAIT_1 | 1 << CLOSE_WAIT | 1 << LAST_ACK | 1 << CLOSING;
	struct bpf_sock *sk = connection_of(skb, s);
	struct tcp_sock___ncf *t;
	struct nacked *n;
	int then = TCX_NEXT;
	if (!sk) {
		__sync_fetch_and_add(&strays, 1);
		return TCX_NEXT;
	}
	t = (void *)to_tcp(sk);
	if (!t || !(1 << (sk->state & 31) & open) || !meant(t))
		__sync_fetch_and_add(&strays, 1);
	else {
		n = storage(&nacks, sk, NULL, STORAGE_CREATE);
		if (n)
			then = obey(sk, t, s, x, n, now);
	}
	release_sock(sk);
	return then;
}

// lower reduces the window of a segment to the bound.
INLINE void lower(struct __sk_buff *skb, struct segment *s, u64 now) {
	struct bpf_sock *sk = connection_of(skb, s);
	struct tcp_sock___ncf *t;
	struct nacked *n;
	u32 a, out, field = swap16(s->tcp.window), least, ack = swap32(s->tcp.ack);
	u16 was = s->tcp.window, is;
	if (!sk)
		return;
	t = (void *)to_tcp(sk);
	n = storage(&nacks, sk, NULL, 0);
	if (!t || !n)
		goto done;
	a = allowed(n, now, window_of(t));
	if (a == NONE)
		goto done;
	out = t->sacked_out + t->lost_out;
	out = out > t->retrans_out ? out - t->retrans_out : 0;
	least = lowered(field, BITS(t, rx_opt.snd_wscale), a, (u64)out * t->mss_cache,
			before(t->snd_una, ack) ? ack - t->snd_una : 0);
	if (least >= field)
		goto done;
	is = swap16(least);
	checksum(skb, s->at + __builtin_offsetof(struct tcp, checksum), was, is, 2);
	skb_store(skb, s->at + __builtin_offsetof(struct tcp, window), &is, sizeof(is), 0);
	n->lowered++;
done:
	release_sock(sk);
}

// comes runs at the ingress of an interface. An accepted NACK ends here, since the kernel could only discard it. A
// refused one passes to the kernel, as on a host without this program.
SEC("tcx/ingress")
int comes(struct __sk_buff *skb) {
	struct segment s = {};
	u64 now;
	u32 n;
	if (!dissect(skb, &s) || (s.tcp.flags & (SYN | RST | ACK)) != ACK)
		return TCX_NEXT;
	now = nanoseconds();
	n = (s.tcp.offset >> 4) * 4 - HEADER;
	if (!s.data && s.tcp.flags == ACK && n > NOTICE_LEAST && n <= OPTIONS) {
		u32 zero = 0;
		struct scan *x = map_lookup(&scans, &zero);
		if (x && !skb_load(skb, s.at + HEADER, x->options, n) && read_notice(x, n))
			return notified(skb, &s, &x->notice, now);
	}
	if (now < until)
		lower(skb, &s, now);
	return TCX_NEXT;
}
