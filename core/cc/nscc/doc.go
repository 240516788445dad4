// Package nscc is the network-signal-based congestion control of Ultra Ethernet, a law for the window of a sender that
// sprays its packets over many paths. It has two signals of each acknowledgement, its delay and its congestion mark,
// and a third, the NACK of a packet that a switch has trimmed. Of the four combinations of the first two, three move
// the window; a mark without delay is a matter for whoever chooses the paths. When much is lost, or delays are long,
// quick adapt sets the window to what has arrived in a round trip.
//
// The law works in bytes of frames and in picoseconds, as the working group's simulator does, and agrees with that to
// the byte on what its traces have (TestTraces). What is added to the window is collected in 64 bits; there 32 bits
// wrap at high rates (TestWrap).
//
// The transport that has this law is weir/core/transport/uet, which says what is in flight; nothing here sends.
package nscc
