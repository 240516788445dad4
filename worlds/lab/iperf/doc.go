// Package iperf generates the traffic of an experiment with iperf3, as a check of package
// traffic by a program that is not ours: endless flows of TCP and UDP at a constant rate,
// each with a server and a client of its own in the hosts of a lab.
//
// iperf3 knows no clock but its own. A flow begins when its client has connected, a few
// round trips after its start; when that was is seen at the server's control connection.
// What was received and sent again in the measured part is summed over iperf3's intervals
// of 0.1 s, of which those at both ends count by their share.
package iperf
