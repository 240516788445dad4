// Package kernel reports whether the kernel has the features that a lab requires, before the lab starts, and
// configures the kernel's TCP for an experiment. Probing and applying work on Linux only.
//
// Parameters of transport tcp and how Linux implements them (function parameters returns them as data):
//
//	rate               the application writes at that rate
//	initial_window     route of the sender's host: initcwnd. The first receive window is at
//	                   most 65535 bytes (RFC 7323 §2.2) in any case
//	rto_min            sysctl tcp_rto_min_us of the sender's host (Linux 6.11), else its
//	                   route: rto_min, in whole ms. At least two ticks (8 ms with
//	                   CONFIG_HZ=250), rounded up to ticks. ACKs of the same host are
//	                   delayed by less than this
//	ecn                sysctl tcp_ecn of the sender's host: 1 requests ECN, 2 does not; the
//	                   other end accepts with either value
//	pacing             socket option SO_MAX_PACING_RATE of the sender, above any rate that
//	                   is reached: it makes TCP pace by itself, as with fq
//	bursts             interface of the sender's host: gso_max_segs 1 if false
//	send_buffer        sysctl tcp_wmem of the sender's host, third value: the largest of its
//	                   flows. The other flows have the socket option SO_SNDBUF, which
//	                   fixes the size
//	receive_buffer     sysctl tcp_rmem of the receiver's host, third value
//	autotuning         sysctl tcp_moderate_rcvbuf of the receiver's host; if it is 0,
//	                   tcp_rmem has receive_buffer as second value too. Flows without it
//	                   have the socket option SO_RCVBUF if other flows of their host have
//	                   autotuning or a larger buffer
//	delayed_ack        0s: route of the receiver's host, quickack. Below 40 ms: socket
//	                   option TCP_DELACK_MAX_US of the receiver, at least two ticks,
//	                   rounded up to ticks. 40 ms is Linux' default (TCP_DELACK_MIN) and
//	                   the maximum
//	compressed_ack     sysctl tcp_comp_sack_delay_ns of the receiver's host; 0s:
//	                   tcp_comp_sack_nr 0
//	ecn_fallback       sysctl tcp_ecn_fallback of the sender's host, if the flow requests ECN
//	write, begins      fixed: the lab's application writes once the connection is open, as
//	                   much as the socket accepts or its rate allows
//	rto_initial        fixed: TCP_TIMEOUT_INIT, 1 s, unless BPF changes it
//	telemetry, telemetry_packets, integrity, feedback_key, nacks
//	                   not available: Linux' TCP has no NACKs, and telemetry only if an
//	                   agent (worlds/agent) adds it to each segment
//	stack              kernel: this table; weir: Weir's own hosts (lab.ServeHosts)
//
// Settings of a host apply to all of its flows. Flows with different settings for one host cannot be in one run.
package kernel
