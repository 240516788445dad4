// Package traffic generates the traffic of an experiment over the kernel's sockets: the
// flows of a spec between the hosts of a lab, with the ports, starts and sizes that they
// have in the simulator, and with results that mean what the simulator's mean.
//
// TCP is the kernel's. A flow connects at its start, and is complete when its last byte is
// acknowledged, by the kernel's own stamp (SOF_TIMESTAMPING_TX_ACK). What it sends, sends
// again and receives is TCP_INFO's, so that it does not matter when an application reads.
// The windows, rates and round-trip times of senders are asked for by sock_diag.
//
// Of UDP, the schedule and the counting are transport/udp's own endpoints; only the
// datagrams are the kernel's. Each says when it was sent, and the kernel stamps when it
// came (SO_TIMESTAMPNS), so that the receiving thread need not hurry.
//
// Three threads do it all: one for TCP, one that sends datagrams and one that receives
// them. They sleep to the nanosecond and never spin. What the lab has otherwise than the
// simulator:
//
//   - A datagram's delay counts from when it is given to the kernel, and so has in it the
//     wait for the host's own link, which in the simulator is before it is sent.
//   - When an endless flow of TCP stops, what is in its send buffer is still sent. For that
//     to be little, the buffer is kept short (TCP_NOTSENT_LOWAT) half a second before.
//   - TCP_INFO has no delays: those of TCP's packets are not known.
package traffic
