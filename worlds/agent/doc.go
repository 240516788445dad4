// Package agent has Linux' own TCP follow HPCC++ (draft-miao-iccrg-hpccplus-01) over IPv6, in connections of programs
// that know nothing of it. BPF programs at both hosts do it, bpf/agent.c, which Start loads and attaches:
//
//   - The sender's put room for the records of five hops into segments with data, at TCX egress: an IOAM
//     pre-allocated trace (RFC 9197) in hop-by-hop options, of a type that hosts without an agent skip (RFC 9486).
//     The MSS that the other host announces is lowered in its SYN, at TCX ingress, so that a segment with a trace is
//     no longer than one without. That reaches listening sockets that were there before, needs neither route nor
//     socket option, and leaves nothing behind.
//   - Switches fill the records in.
//   - The receiver's read them at TCX ingress and compute window, load and bottleneck (Rx-HPCC, draft-miao §6.2,
//     bpf/law.h), and tell them in an experimental TCP option (RFC 6994) of acknowledgements. The kernel asks a BPF
//     program of sockets for it, and so counts its bytes where it fits a segment.
//   - The sender's take the option behind the kernel's check of sequence numbers, if what it acknowledges is of the
//     connection's window, and have the connection controlled by weir_hpcc, which is of BPF, too: window W, pacing
//     rate W/T. Where no telemetry comes for two round trips, 100 ms at most, it hands the connection to the kernel's
//     CUBIC, with the window that it has; the next telemetry takes it back.
//
// Of NCF (BS'19 §4.3) it follows NACKs, over IPv4 and IPv6, with another program at TCX ingress, bpf/ncf.c: a NACK that
// is about a transmission that is out, by sequence number, length and time stamp, bounds what the connection has in
// flight (bpf/bound.h). The bound is written into the window of segments that come in, so any congestion control obeys
// it, nothing of the socket is changed, and with the program the bound is gone.
//
// Everything hangs on descriptors of this process. However it dies, nothing is left but for what open connections
// hold: those go on as CUBIC after the same time, and with the last of them program and map go. Linux 6.6 or later.
package agent
