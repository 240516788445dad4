// Package kernel says what the kernel can that a lab needs, before anything is started,
// and how it is given what an experiment wants of TCP. Asking and applying are for Linux
// only.
//
// What transport tcp's parameters are in Linux (parameters has the same as data):
//
//	rate               the application's: it writes at that rate
//	initial_window     route of the sender's host: initcwnd. The other end's first
//	                   window is at most 65535 bytes (RFC 7323 §2.2), whatever this is
//	rto_min            sysctl tcp_rto_min_us of the sender's host (Linux 6.11), else its
//	                   route: rto_min, in whole ms. From two ticks on: 8 ms with
//	                   CONFIG_HZ=250, and rounded up to ticks. ACKs of the same host wait
//	                   less than this
//	ecn                sysctl tcp_ecn of the sender's host: 1 asks for it, 2 does not; the
//	                   other end agrees with either
//	pacing             socket option SO_MAX_PACING_RATE of the sender, beyond what is
//	                   ever reached: it makes TCP pace by itself, as fq does
//	bursts             interface of the sender's host: gso_max_segs 1 if false
//	send_buffer        sysctl tcp_wmem of the sender's host, third value, of which the
//	                   largest of its flows counts; the others have the socket option
//	                   SO_SNDBUF, which fixes the size
//	receive_buffer     sysctl tcp_rmem of the receiver's host, third value
//	autotuning         sysctl tcp_moderate_rcvbuf of the receiver's host; if it is 0,
//	                   tcp_rmem has receive_buffer as second value too. Flows without it
//	                   have the socket option SO_RCVBUF where others of their host have it,
//	                   or a larger buffer
//	delayed_ack        0s: route of the receiver's host, quickack. Below 40 ms: socket
//	                   option TCP_DELACK_MAX_US of the receiver, from two ticks on, and
//	                   rounded up to ticks. 40 ms is Linux' own (TCP_DELACK_MIN), more
//	                   cannot be
//	compressed_ack     sysctl tcp_comp_sack_delay_ns of the receiver's host; 0s:
//	                   tcp_comp_sack_nr 0
//	ecn_fallback       sysctl tcp_ecn_fallback of the sender's host, where the flow asks for ECN
//	write, begins      cannot be: the lab's application writes once the connection is there, as much
//	                   as the socket takes or its rate lets
//	rto_initial        cannot be another than TCP_TIMEOUT_INIT, 1 s, without BPF
//	telemetry, telemetry_packets, integrity, feedback_key, nacks
//	                   cannot be: Linux' TCP knows no NACKs, and no telemetry but
//	                   what an agent (worlds/agent) puts into each segment
//	stack              kernel: this table; weir: the flow's hosts are Weir's own (lab.ServeHosts)
//
// What is of a host is for all of its flows: flows that want different things of one host
// cannot be in one run.
package kernel
