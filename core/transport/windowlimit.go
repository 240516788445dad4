package transport

import "weir/core/cc"

// IsWindowLimited reports whether the controller's window limits a sender. inFlight is the payload in flight in bytes
// before an acknowledgement, packet the payload of a full packet. The window limits the sender if the next packet does
// not fit, or if IsHalfUsed. Senders report the result in cc.Ack.Limited; a controller grows no other window.
func IsWindowLimited(d *cc.Decision, inFlight, packet int64) bool {
	return inFlight+packet > int64(d.Window) || IsHalfUsed(d, inFlight, int64(d.Window))
}

// IsHalfUsed reports whether the window is in slow start and more than half of it is in flight. Such a window counts
// as fully used, because an acknowledgement arrives before the sender fills a window that doubles (Linux
// include/net/tcp.h, tcp_is_cwnd_limited). inFlight and window have the same unit, bytes or packets.
func IsHalfUsed(d *cc.Decision, inFlight, window int64) bool {
	return d.SlowStart && 2*inFlight > window
}
