// Package nscc is the network-signal-based congestion control of Ultra Ethernet, a window law for a sender that
// sprays its packets over many paths. Each acknowledgement carries two signals, its delay and its congestion mark.
// The third signal is the NACK of a packet that a switch has trimmed. Three of the four combinations of delay and
// mark change the window; a mark without delay concerns only the selection of paths. After heavy loss or long delays,
// quick adapt sets the window to the bytes that arrived in a round trip.
//
// The law counts bytes of frames and picoseconds, as the working group's simulator does. It agrees with the
// simulator's traces to the byte (TestLaw_MatchesSimulatorTraces). Increases of the window are summed in 64 bits; the
// simulator's 32 bits wrap at high rates (TestLaw_AdjustsBeyond32Bits).
//
// The transport with this law is weir/core/transport/uet, which reports what is in flight. This package does not
// send.
package nscc
