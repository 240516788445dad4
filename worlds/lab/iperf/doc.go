// Package iperf generates the traffic of an experiment with iperf3, as an independent check of package traffic. It
// supports endless flows of TCP and UDP at a constant rate, each with its own server and client in the hosts of a
// lab.
//
// iperf3 has its own clock only. A flow starts when its client has connected, a few round trips after its start
// time; the server's control connection shows when. Bytes received and retransmitted in the measured part are
// summed over iperf3's intervals of 0.1 s. Intervals at both ends count by their share.
package iperf
