// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// HPCC++ for Linux' own TCP over IPv6. The programs at the two ends of a connection:
//
//	sender    leaves (TCX egress)   adds room for records of hops to segments with data: an IOAM trace
//	receiver  comes  (TCX ingress)  reads the records of switches and computes the window
//	receiver  talks  (sockops)      sends it to the sender in a TCP option of acknowledgements
//	sender    talks  (sockops)      reads the option
//	sender    control (struct_ops)  obeys it
//
// A connection takes part if it was opened through an interface with these programs: comes sees its SYN and lowers the
// announced MSS by the length of the trace.
#include "frame.h"
#include "trace.h"

char _license[] SEC("license") = "GPL and additional rights"; // the additional rights: Apache-2.0

// Settings, set by the loader.
volatile const struct parameters parameters = {};
volatile const u64 namespace_cookie = 0; // connections of other network namespaces are ignored
volatile const u64 base_rtt = 0;         // round trip of the empty path, ns; 0: the measured minimum
volatile const u64 line_rate = 0;        // bytes/s; limit of a receiver's claims; 0: no limit
volatile const char controller[NAME] = "weir_hpcc";

// Option with the window (RFC 6994): kind 253, 16 bits of ExID. The short form is the first eight bytes. Each layout
// has its own ExID, which agents of other versions ignore: 0x5745 had no T.
#define KIND 253
#define EXID 0x5746
struct told {
	u8 kind, length;
	u16 exid;
	u32 window;         // bytes
	u16 load;           // U, in 1/4096
	u8 hops;            // the bottleneck, from 0, in the upper four bits; the count of hops in the lower
	u8 time;            // T (encode_time)
};
#define SHORT 8
#define LONG 12

#define HOLD 100000000ull // ns; upper limit of the time for which telemetry is valid
#define LEAST_HOLD 5000000ull
#define MIN_SEGMENTS 4

// connection is the state of a connection, as read by the loader.
struct connection {
	struct law law;  // of incoming data
	u64 recorded;    // time of the last records
	u64 told_at;     // time of the other end's last option
	u32 window;      // from that option, bytes
	u16 load;
	u8 bottleneck, hops;
	u32 tells;       // count of options received
	u32 refused;     // options and records with numbers outside the connection's windows
	u32 bare;        // segments since the last one with records
	u32 traced;      // segments sent with room for records
	u32 fallbacks;   // changes to CUBIC
	u32 following;   // the window is in use
	u32 time;        // T of the other end, us; 0: unknown
	u32 pad;
};

struct {
	INT_FIELD(type, SK_STORAGE);
	INT_FIELD(map_flags, NO_PREALLOC);
	TYPE_FIELD(key, int);
	TYPE_FIELD(value, struct connection);
} connections SEC(".maps");

// shaken holds connections from their SYN, as received, until they are open.
struct {
	INT_FIELD(type, LRU_HASH);
	INT_FIELD(max_entries, 4096);
	TYPE_FIELD(key, struct address);
	TYPE_FIELD(value, u32);
} shaken SEC(".maps");

struct scratch {
	struct records records;
	u8 bytes[ROOM];
};

struct {
	INT_FIELD(type, PERCPU_ARRAY);
	INT_FIELD(max_entries, 1);
	TYPE_FIELD(key, u32);
	TYPE_FIELD(value, struct scratch);
} scratches SEC(".maps");

// packet locates the headers of a frame.
struct packet {
	struct ip6 ip;
	struct tcp tcp;
	u32 options; // bytes of hop-by-hop options
	u32 at;      // offset of the TCP header
	u32 data;    // bytes behind the TCP header
};

INLINE int dissect(struct __sk_buff *skb, struct packet *p) {
	u32 header;
	if (skb->protocol != swap16(0x86dd) || skb_load(skb, ETHERNET, &p->ip, sizeof(p->ip)))
		return 0;
	p->options = 0;
	if (p->ip.next == HOP_BY_HOP) {
		u8 head[2];
		if (skb_load(skb, ETHERNET + IP6, head, sizeof(head)) || head[0] != TCP)
			return 0;
		p->options = 8 * (head[1] + 1);
	} else if (p->ip.next != TCP)
		return 0;
	p->at = ETHERNET + IP6 + p->options;
	if (skb_load(skb, p->at, &p->tcp, sizeof(p->tcp)))
		return 0;
	header = p->options + (p->tcp.offset >> 4) * 4;
	p->data = swap16(p->ip.length) > header ? swap16(p->ip.length) - header : 0;
	return 1;
}

INLINE void address_of(struct address *a, const struct packet *p) {
	__builtin_memcpy(a->source, p->ip.source, 32);
	a->source_port = p->tcp.source;
	a->destination_port = p->tcp.destination;
}

// lower reduces the MSS of a SYN by the room for a trace, also within this interface's MTU.
INLINE void lower(struct __sk_buff *skb, const struct packet *p) {
	u32 mtu = 0, at = sizeof(struct tcp), end = (p->tcp.offset >> 4) * 4;
	check_mtu(skb, 0, &mtu, 0, 0);
	for (int i = 0; i < 20; i++) {
		u8 option[4];
		u16 mss, least;
		if (at + 4 > end || skb_load(skb, p->at + at, option, 4) || option[0] == 0)
			return;
		if (option[0] == 1) {
			at++;
			continue;
		}
		if (option[1] < 2)
			return;
		if (option[0] != 2 || option[1] != 4) {
			at += option[1];
			continue;
		}
		mss = option[2] << 8 | option[3];
		least = mss;
		if (mtu > IP6 + sizeof(struct tcp) && least > mtu - IP6 - sizeof(struct tcp))
			least = mtu - IP6 - sizeof(struct tcp);
		if (least < 2 * ROOM)
			return;
		least = swap16(least - ROOM);
		mss = swap16(mss);
		// The checksum covers 16-bit words: an option at an odd offset counts with its bytes swapped.
		if (at & 1)
			checksum(skb, p->at + 16, swap16(mss), swap16(least), 2);
		else
			checksum(skb, p->at + 16, mss, least, 2);
		skb_store(skb, p->at + at + 2, &least, 2, 0);
		return;
	}
}

// acknowledges reports whether the other end can have sent an acknowledgement number (RFC 5961 §5).
INLINE int acknowledges(struct tcp_sock *t, u32 ack) {
	return !before(ack, t->snd_una - t->max_window) && !before(t->snd_nxt, ack);
}

// inside reports whether a segment is in the connection's windows: in the receive window (RFC 9293 §3.4), and with a
// valid acknowledgement.
INLINE int inside(struct tcp_sock *t, u32 seq, u32 end, u32 ack) {
	if (before(end, t->rcv_wup) || before(t->rcv_wup + t->rcv_wnd, seq))
		return 0;
	return acknowledges(t, ack);
}

// round_trip returns the round trip of the empty path, ns; 0: unknown.
INLINE u64 round_trip(struct tcp_sock *t) {
	u32 us = t->rtt_min.s[0].v;
	if (base_rtt)
		return base_rtt;
	if (!us || us == 0xffffffff)
		us = t->rcv_rtt_est.rtt_us >> 3;
	return (u64)us * 1000;
}

INLINE void records_came(struct __sk_buff *skb, const struct packet *p) {
	u32 zero = 0;
	struct scratch *s = map_lookup(&scratches, &zero);
	struct address a;
	struct bpf_sock *sk;
	struct connection *c;
	struct tcp_sock *t;
	u64 now = nanoseconds();
	if (!s || skb_load(skb, ETHERNET + IP6, s->bytes, ROOM))
		return;
	address_of(&a, p);
	sk = lookup_tcp(skb, &a, sizeof(a), CURRENT_NETNS, 0);
	if (!sk)
		return;
	c = storage(&connections, sk, NULL, 0);
	t = to_tcp(sk);
	if (!c || !t)
		goto done;
	if (!inside(t, swap32(p->tcp.seq), swap32(p->tcp.seq) + p->data, swap32(p->tcp.ack))) {
		c->refused++;
		goto done;
	}
	read_trace(s->bytes, &s->records);
	if (!s->records.n) {
		c->bare++;
		goto done;
	}
	struct parameters settings = {parameters.eta, parameters.increase, parameters.flows, parameters.max_stage,
				      parameters.initial};
	new_int(&c->law, &settings, &s->records, now, round_trip(t));
	c->recorded = now;
	c->bare = 0;
done:
	release_sock(sk);
}

// comes runs at the ingress of an interface.
SEC("tcx/ingress")
int comes(struct __sk_buff *skb) {
	struct packet p;
	if (!dissect(skb, &p))
		return TCX_NEXT;
	if (p.tcp.flags & SYN && !p.options) {
		struct address a;
		u32 one = 1;
		lower(skb, &p);
		address_of(&a, &p);
		map_update(&shaken, &a, &one, ANY);
	} else if (p.options == ROOM && p.data)
		records_came(skb, &p);
	return TCX_NEXT;
}

// tells reports whether a window can be sent to the other end.
INLINE int tells(const struct connection *c) {
	return c->law.told && c->bare < 16 && nanoseconds() - c->recorded < HOLD;
}

// squeeze puts the short option in place of the third SACK block, if that and a time stamp leave no room for it. Blocks
// are sent three times (RFC 2018 §4), windows are not.
INLINE void squeeze(struct __sk_buff *skb, const struct packet *p, const struct connection *c) {
	enum { STAMP = 12, SACK = 28, BLOCKS_AT = 4 + 16 }; // bytes, with two of padding each
	u32 at = p->at + sizeof(struct tcp) + STAMP;
	u8 old[SACK];
	struct {
		u8 head[4];
		u8 kind, length;
		u16 exid;
		u32 window;
	} new = {{1, 1, 5, 18}, KIND, SHORT, swap16(EXID), swap32(c->law.told)};
	s64 by;
	if (p->tcp.offset >> 4 != 15 || skb_load(skb, at, old, sizeof(old)) || old[0] != 1 || old[1] != 1 ||
	    old[2] != 5 || old[3] != 26)
		return;
	__builtin_memcpy(old + 4, old + BLOCKS_AT, SHORT);
	by = difference(old, sizeof(new), &new, sizeof(new), 0);
	if (by < 0)
		return;
	skb_store(skb, at, new.head, 4, 0);
	skb_store(skb, at + BLOCKS_AT, &new.kind, SHORT, 0);
	checksum(skb, p->at + 16, 0, by, 0);
}

// leaves runs at the egress of an interface.
SEC("tcx/egress")
int leaves(struct __sk_buff *skb) {
	struct packet p;
	struct bpf_sock *sk = skb->sk;
	struct connection *c;
	struct scratch *s;
	u32 zero = 0, mtu = 0, header, longest;
	u16 length;
	u8 next = HOP_BY_HOP;
	if (!sk || !dissect(skb, &p) || p.options || p.tcp.flags & (SYN | RST))
		return TCX_NEXT;
	sk = full_sock(sk);
	if (!sk)
		return TCX_NEXT;
	c = storage(&connections, sk, NULL, 0);
	s = map_lookup(&scratches, &zero);
	if (!c || !s)
		return TCX_NEXT;
	if (!p.data) {
		if (tells(c))
			squeeze(skb, &p, c);
		return TCX_NEXT;
	}
	header = (p.tcp.offset >> 4) * 4;
	longest = IP6 + header + ROOM + (skb->gso_size ? skb->gso_size : p.data);
	check_mtu(skb, 0, &mtu, 0, 0);
	if (longest > mtu || (u32)swap16(p.ip.length) + ROOM > 0xffff)
		return TCX_NEXT;
	if (adjust_room(skb, ROOM, ROOM_NET, FIXED_GSO))
		return TCX_NEXT;
	open_trace(s->bytes, TCP);
	length = swap16(swap16(p.ip.length) + ROOM);
	skb_store(skb, ETHERNET + IP6, s->bytes, ROOM, 0);
	skb_store(skb, ETHERNET + 4, &length, 2, 0);
	skb_store(skb, ETHERNET + 6, &next, 1, 0);
	c->traced++;
	return TCX_NEXT;
}

INLINE void opened(struct bpf_sock_ops *s) {
	struct address a = {};
	struct bpf_sock *sk = s->sk;
	if (s->family != AF_INET6 || !sk || netns_cookie(s) != namespace_cookie)
		return;
	for (int i = 0; i < 4; i++) {
		a.source[i] = s->remote_ip6[i];
		a.destination[i] = s->local_ip6[i];
	}
	a.source_port = s->remote_port >> 16;
	a.destination_port = swap16(s->local_port);
	if (map_delete(&shaken, &a))
		return; // it was not opened through the interface
	if (storage(&connections, sk, NULL, STORAGE_CREATE))
		set_flags(s, s->flags | FLAG_PARSE_UNKNOWN | FLAG_WRITE);
}

// obey reads the option of the other end and starts weir_hpcc if it is not in use.
INLINE void obey(struct bpf_sock_ops *s, struct bpf_sock *sk, struct connection *c) {
	struct told o = {.kind = KIND, .length = 4, .exid = swap16(EXID)};
	struct tcp *h = s->skb_data;
	struct tcp_sock *t = to_tcp(sk);
	long n;
	u32 ack;
	if (!t || (void *)(h + 1) > s->skb_data_end || !(h->flags & ACK))
		return;
	ack = swap32(h->ack);
	n = load_option(s, &o, sizeof(o), 0);
	if (n != LONG && n != SHORT)
		return;
	// The kernel has checked sequence number and time stamp (tcp_validate_incoming).
	if (!acknowledges(t, ack)) {
		c->refused++;
		return;
	}
	if (before(ack, t->snd_una))
		return; // a later one has overtaken it: what that told is newer
	c->window = swap32(o.window);
	if (n == LONG) {
		c->load = swap16(o.load);
		c->bottleneck = o.hops >> 4;
		c->hops = o.hops & 15;
		c->time = o.time ? decode_time(o.time) : 0;
	}
	c->told_at = nanoseconds();
	c->tells++;
	if (!c->following) {
		char name[NAME];
		for (int i = 0; i < NAME; i++)
			name[i] = controller[i];
		c->following = 1;
		if (set_option(s, SOL_TCP, TCP_CONGESTION, name, NAME))
			c->following = 0;
	}
}

SEC("sockops")
int talks(struct bpf_sock_ops *s) {
	struct bpf_sock *sk = s->sk;
	struct connection *c;
	if (s->op == OP_ACTIVE || s->op == OP_PASSIVE) {
		opened(s);
		return 1;
	}
	if (!sk || (s->op != OP_PARSE && s->op != OP_LENGTH && s->op != OP_WRITE))
		return 1;
	c = storage(&connections, sk, NULL, 0);
	if (!c)
		return 1;
	if (s->op == OP_PARSE)
		obey(s, sk, c);
	else if (s->op == OP_LENGTH && tells(c)) {
		if (reserve_option(s, LONG, 0))
			reserve_option(s, SHORT, 0);
	} else if (s->op == OP_WRITE && tells(c)) {
		u64 load = c->law.u >> 12;
		struct told o = {.kind = KIND, .length = LONG, .exid = swap16(EXID), .window = swap32(c->law.told),
				 .load = swap16(load > 0xffff ? 0xffff : load), .hops = c->law.bottleneck << 4 | c->law.n,
				 .time = encode_time(c->law.t)};
		if (store_option(s, &o, LONG, 0)) {
			o.length = SHORT;
			store_option(s, &o, SHORT, 0);
		}
	}
	return 1;
}

// cubic lets the connection continue with the kernel's CUBIC, from its current window, without slow start.
INLINE void cubic(struct sock *sk, struct tcp_sock *t, struct connection *c) {
	char name[NAME] = "cubic";
	t->snd_ssthresh = t->snd_cwnd > 2 ? t->snd_cwnd : 2;
	if (c) {
		c->following = 0;
		c->fallbacks++;
	}
	set_option(sk, SOL_TCP, TCP_CONGESTION, name, NAME);
}

SEC("struct_ops/begins")
int begins(u64 *context) {
	struct sock *sk = (void *)context[0];
	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	return 0;
}

SEC("struct_ops/threshold")
int threshold(u64 *context) {
	struct tcp_sock *t = (void *)context[0];
	return t->snd_cwnd > 2 ? t->snd_cwnd : 2;
}

SEC("struct_ops/undo")
int undo(u64 *context) {
	struct tcp_sock *t = (void *)context[0];
	return t->snd_cwnd;
}

// control is line 27: R = W/T, and at most W in flight. W counts frames, as telemetry does; the kernel counts segments
// and paces their payload. If a receiver's T is too long for R and this end's round trip, the flight is limited to R·T
// of the correct T.
SEC("struct_ops/control")
int control(u64 *context) {
	struct sock *sk = (void *)context[0];
	struct tcp_sock *t = (void *)context[0];
	struct connection *c = storage(&connections, sk, NULL, 0);
	u64 trip = t->srtt_us >> 3, hold = trip * 2000, w, frame, segments, most, time, max_time, rate;
	if (hold < LEAST_HOLD)
		hold = LEAST_HOLD;
	if (hold > HOLD)
		hold = HOLD;
	if (!c || !c->told_at || nanoseconds() - c->told_at > hold) {
		cubic(sk, t, c);
		return 0;
	}
	w = c->window;
	time = c->time; // T is at least 17 us
	if (!time)
		time = decode_time(encode_time(round_trip(t) + min_time(0)));
	if (line_rate && w > line_rate * time / 1000000)
		w = line_rate * time / 1000000;
	frame = t->mss_cache + t->tcp_header_len + ROOM + IP6 + ETHERNET;
	rate = w * t->mss_cache / frame * 1000000 / time;
	max_time = bound_time(round_trip(t), w, time);
	if (time > max_time) {
		w = w * max_time / time;
		time = max_time;
	}
	// If the round trip is below T, W/T needs fewer segments in flight than W: those of the smoothed round trip and
	// the empty path's, and MIN_SEGMENTS for delayed acknowledgements and late hosts. With more, Linux sends longer
	// bursts, unless each segment is a frame of its own; then W covers stalls of hosts.
	trip += round_trip(t) / 1000;
	if (sk->sk_gso_max_segs == 1)
		trip = time;
	most = (w + frame - 1) / frame;
	segments = (w * (trip < time ? trip : time) / time + frame - 1) / frame + MIN_SEGMENTS;
	if (segments > most)
		segments = most;
	if (segments < MIN_SEGMENTS)
		segments = MIN_SEGMENTS;
	if (segments > t->snd_cwnd_clamp)
		segments = t->snd_cwnd_clamp;
	t->snd_cwnd = segments;
	sk->sk_pacing_rate = rate ? rate : 1;
	return 0;
}

struct tcp_congestion_ops {
	int (*init)(u64 *);
	int (*ssthresh)(u64 *);
	int (*undo_cwnd)(u64 *);
	int (*cong_control)(u64 *);
	char name[NAME];
};

SEC(".struct_ops.link")
struct tcp_congestion_ops weir_hpcc = {
	.init = begins, .ssthresh = threshold, .undo_cwnd = undo, .cong_control = control, .name = "weir_hpcc",
};
