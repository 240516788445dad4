// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Parts of the kernel's TCP that ncf.c reads in addition to kernel.h. Names end in ___ncf, which the loader ignores,
// since kernel.h has other fields of the same structures.
#pragma once
#include "kernel.h"

enum { ESTABLISHED = 1, FIN_WAIT_1 = 4, CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };
enum { CA_CWR = 2 };
enum { SACKED = 1 }; // TCPCB_SACKED_ACKED
enum { TCX_DROP = 2 };

struct bpf_sock {
	u32 bound_dev_if, family, type, protocol, mark, priority, src_ip4, src_ip6[4], src_port;
	u16 dst_port, pad;
	u32 dst_ip4, dst_ip6[4], state;
};

struct rb_node___ncf {
	struct rb_node___ncf *rb_right, *rb_left;
} KERNEL;

struct rb_root___ncf {
	struct rb_node___ncf *rb_node;
} KERNEL;

struct sk_buff___ncf {
	struct rb_node___ncf rbnode;
	u64 skb_mstamp_ns;
	char cb[48];
} KERNEL;

struct tcp_skb_cb___ncf {
	u32 seq, end_seq;
	u16 tcp_gso_size;
	u8 tcp_flags, sacked;
} KERNEL;

struct tcp_congestion_ops___ncf {
	char name[NAME];
} KERNEL;

struct cgroup___ncf;

struct cgroup_subsys_state___ncf {
	struct cgroup___ncf *cgroup;
	struct cgroup_subsys_state___ncf *parent;
} KERNEL;

struct kernfs_node___ncf {
	u64 id;
} KERNEL;

struct cgroup___ncf {
	struct cgroup_subsys_state___ncf self;
	struct kernfs_node___ncf *kn;
} KERNEL;

struct sock_cgroup_data___ncf {
	struct cgroup___ncf *cgroup;
} KERNEL;

struct sock___ncf {
	struct rb_root___ncf tcp_rtx_queue;
	struct sock_cgroup_data___ncf sk_cgrp_data;
} KERNEL;

struct inet_connection_sock___ncf {
	const struct tcp_congestion_ops___ncf *icsk_ca_ops;
	u8 icsk_ca_state : 5;
} KERNEL;

struct tcp_options_received___ncf {
	u32 ts_recent;
	u16 tstamp_ok : 1, snd_wscale : 4;
} KERNEL;

struct tcp_sock___ncf {
	u16 tcp_header_len;
	u32 snd_una, snd_nxt, snd_wnd, rcv_nxt, window_clamp, high_seq, mss_cache, srtt_us, snd_cwnd, packets_out;
	u32 sacked_out, lost_out, retrans_out, tsoffset;
	u8 tcp_usec_ts : 1;
	struct minmax rtt_min;
	struct tcp_options_received___ncf rx_opt;
} KERNEL;

static long (*const probe)(void *to, u32 n, const void *from) = (void *)113;

#define EXISTS(field) __builtin_preserve_field_info(field, 2)

// BITS reads a bit field.
#define BITS(of, field)                                                                                   \
	({                                                                                                \
		u64 v = 0;                                                                                \
		probe(&v, __builtin_preserve_field_info((of)->field, 1),                                  \
		      (void *)(of) + __builtin_preserve_field_info((of)->field, 0));                      \
		v << __builtin_preserve_field_info((of)->field, 4) >> __builtin_preserve_field_info((of)->field, 5); \
	})

// READ reads a field of a structure at any address.
#define READ(of, field)                                \
	({                                             \
		__typeof__((of)->field) v = 0;         \
		probe(&v, sizeof(v), &(of)->field);    \
		v;                                     \
	})
