// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Kernel interface of the programs: types, helpers and layouts of the user API (linux/bpf.h), and the used fields of
// kernel structures, which the loader locates (BPF CO-RE). No header of this machine is included, so that clang builds
// the same bytes everywhere.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define GLOBAL __attribute__((noinline)) // verified once, not at each call
#define KERNEL __attribute__((preserve_access_index))
#define NULL ((void *)0)

#define INT_FIELD(name, value) int (*name)[value]
#define TYPE_FIELD(name, type) type *name

#define swap16(x) __builtin_bswap16(x)
#define swap32(x) __builtin_bswap32(x)
#define swap64(x) __builtin_bswap64(x)

enum { HASH = 1, ARRAY = 2, PERCPU_ARRAY = 6, LRU_HASH = 9, SK_STORAGE = 24 };
enum { NO_PREALLOC = 1, STORAGE_CREATE = 1, CURRENT_NETNS = -1, ANY = 0 };
enum { TCX_NEXT = -1 };
enum { ROOM_NET = 0, FIXED_GSO = 1 }; // bpf_skb_adjust_room
enum { SOL_TCP = 6, TCP_CONGESTION = 13, AF_INET6 = 10, NAME = 16 };
enum { PACING_NONE = 0, PACING_NEEDED = 1 };

// struct bpf_sock_ops: operations and flags
enum { OP_ACTIVE = 4, OP_PASSIVE = 5, OP_PARSE = 13, OP_LENGTH = 14, OP_WRITE = 15 };
enum { FLAG_PARSE_UNKNOWN = 1 << 5, FLAG_WRITE = 1 << 6 };

struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family;
	u32 remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
	u64 flow_keys, tstamp;
	u32 wire_len, gso_segs;
	struct bpf_sock *sk;
	u32 gso_size;
};

struct bpf_sock_ops {
	u32 op, args[4], family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	u32 is_fullsock, snd_cwnd, srtt_us, flags, state, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt, snd_una;
	u32 mss_cache, ecn_flags, rate_delivered, rate_interval_us, packets_out, retrans_out, total_retrans;
	u32 segs_in, data_segs_in, segs_out, data_segs_out, lost_out, sacked_out, sk_txhash;
	u64 bytes_received, bytes_acked;
	struct bpf_sock *sk;
	void *skb_data, *skb_data_end;
	u32 skb_len, skb_tcp_flags;
};

struct address { // struct bpf_sock_tuple, of IPv6
	u32 source[4], destination[4];
	u16 source_port, destination_port;
};

struct sock {
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
	u16 sk_gso_max_segs;
} KERNEL;

struct minmax_sample { u32 v; } KERNEL;
struct minmax { struct minmax_sample s[3]; } KERNEL;

struct tcp_sock {
	u16 tcp_header_len;
	u32 snd_una, snd_nxt, rcv_nxt, rcv_wnd, rcv_wup, max_window, mss_cache, srtt_us, snd_cwnd, snd_ssthresh;
	u32 snd_cwnd_clamp;
	struct minmax rtt_min;
	struct { u32 rtt_us; } rcv_rtt_est;
} KERNEL;

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const nanoseconds)(void) = (void *)5;
static long (*const skb_store)(struct __sk_buff *, u32 offset, const void *from, u32 n, u64 flags) = (void *)9;
static long (*const checksum)(struct __sk_buff *, u32 offset, u64 from, u64 to, u64 flags) = (void *)11;
static long (*const skb_load)(const void *, u32 offset, void *to, u32 n) = (void *)26;
static s64 (*const difference)(void *from, u32 bytes, void *to, u32 to_bytes, u32 seed) = (void *)28;
static long (*const set_option)(void *, int level, int name, void *value, int n) = (void *)49;
static long (*const adjust_room)(struct __sk_buff *, s32 by, u32 mode, u64 flags) = (void *)50;
static long (*const set_flags)(struct bpf_sock_ops *, int flags) = (void *)59;
static struct bpf_sock *(*const lookup_tcp)(void *, struct address *, u32 n, u64 netns, u64 flags) = (void *)84;
static long (*const release_sock)(void *) = (void *)86;
static struct bpf_sock *(*const full_sock)(struct bpf_sock *) = (void *)95;
static void *(*const storage)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static u64 (*const netns_cookie)(void *) = (void *)122;
static struct tcp_sock *(*const to_tcp)(void *) = (void *)137;
static long (*const load_option)(struct bpf_sock_ops *, void *by, u32 n, u64 flags) = (void *)142;
static long (*const store_option)(struct bpf_sock_ops *, const void *from, u32 n, u64 flags) = (void *)143;
static long (*const reserve_option)(struct bpf_sock_ops *, u32 n, u64 flags) = (void *)144;
static long (*const check_mtu)(void *, u32 ifindex, u32 *mtu, s32 by, u64 flags) = (void *)163;
