// Package udp is unreliable datagram traffic, the load of P4-ABC's figures 4 and 6 (§6.2.1: constant bit rate, 1448
// bytes of payload): constant rate with jittered gaps, bursts as iperf3 sends them, Poisson arrivals, and on/off
// sources. The receiver counts goodput, loss, one-way delay and jitter.
//
// A flow with a congestion controller (udp_controlled) also accepts NACKs of switches (BS'19 §4.3): a datagram that
// they name leaves flight and is lost, and is not resent. Without a report the sender sends a probe with the time
// (transport.LossTimer), which the receiver's report returns. Datagrams that were sent before the probe and that the
// report does not count are lost.
package udp
