// Package agent makes Linux' own TCP follow HPCC++ (draft-miao-iccrg-hpccplus-01) over IPv6, in connections of
// unmodified programs. BPF programs at both hosts do it. Start loads and attaches them (bpf/agent.c):
//
//   - The sender's programs add room for the records of five hops to segments with data, at TCX egress: an IOAM
//     pre-allocated trace (RFC 9197) in hop-by-hop options, of a type that hosts without an agent skip (RFC 9486).
//     At TCX ingress they lower the MSS in the other host's SYN, so that a segment with a trace is no longer than
//     one without. This works for existing listening sockets, requires no route and no socket option, and ends with
//     the program.
//   - Switches fill the records in.
//   - The receiver's programs read the records at TCX ingress and compute window, load and bottleneck (Rx-HPCC,
//     draft-miao §6.2, bpf/law.h). They send the result in an experimental TCP option (RFC 6994) of
//     acknowledgements. The kernel asks a BPF socket program for the option and reserves its bytes in segments.
//   - The sender's programs read the option after the kernel's check of sequence numbers, if its acknowledgement is
//     in the connection's window. They switch the connection to weir_hpcc, a congestion control in BPF, with window
//     W and pacing rate W/T. Without telemetry for two round trips, at most 100 ms, the connection continues with
//     the kernel's CUBIC from its current window. The next telemetry switches it back.
//
// For NCF (BS'19 §4.3) the agent follows NACKs over IPv4 and IPv6 with a program at TCX ingress, bpf/ncf.c. A NACK
// about an outstanding transmission, by sequence number, length and time stamp, limits what the connection has in
// flight (bpf/bound.h). The program writes the bound into the window of received segments. Any congestion control
// obeys it, no state of the socket changes, and the bound ends with the program.
//
// All programs are held by descriptors of this process. When it ends, only open connections keep the programs;
// they continue with CUBIC after the same time, and the last one frees programs and maps. Linux 6.6 or later.
package agent
