// Package window is the simplest reliable transport: a fixed window of packets, an acknowledgement for every packet, no
// congestion control. Losses are repaired by going back to the first missing packet (go-back-N) on the receiver's NACK,
// or after a timeout that doubles. The engine's benchmark and the tests of switches use it. It is also the lower bound
// for a congestion control.
package window
