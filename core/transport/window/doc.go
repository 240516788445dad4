// Package window is the plainest reliable transport: a fixed window of packets,
// an acknowledgement for every packet, no congestion control. Losses are
// repaired by going back to the first missing packet (go-back-N) on the
// receiver's NACK, or after a timeout that doubles. The engine's benchmark and
// the tests of switches use it; it is also the lower bound that a congestion
// control has to beat.
package window
