// Package traffic generates the traffic of an experiment over the kernel's sockets: the
// flows of a spec between the hosts of a lab, with the simulator's ports, starts and sizes,
// and with results of the same meaning.
//
// TCP is the kernel's. A flow connects at its start and is complete when its last byte is
// acknowledged, by the kernel's stamp (SOF_TIMESTAMPING_TX_ACK). Sent, retransmitted and
// received bytes come from TCP_INFO, so they do not depend on when an application reads.
// Windows, rates and round-trip times of senders come from sock_diag.
//
// UDP uses transport/udp's endpoints for schedule and counters; only the datagrams are the
// kernel's. Each carries its send time, and the kernel stamps its arrival (SO_TIMESTAMPNS),
// so the receiving thread may be late.
//
// Three threads do all work: one for TCP, one that sends datagrams and one that receives
// them. They sleep with nanosecond precision and never spin. Differences to the simulator:
//
//   - A datagram's delay counts from its system call. It includes the wait for the host's
//     own link, which in the simulator precedes sending.
//   - When an endless TCP flow stops, the data in its send buffer is still sent. To keep
//     that short, the buffer is limited half a second before (TCP_NOTSENT_LOWAT).
//   - TCP_INFO has no delays, so the delays of TCP's packets are unknown.
package traffic
