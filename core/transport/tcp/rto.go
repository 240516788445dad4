package tcp

import (
	"weir/core/transport"
	"weir/core/unit"
)

// rto is the retransmission timeout (RFC 6298) with its backoff: the duration of the timer, not the timer itself. Linux
// has 200 ms in place of the second of RFC 6298 §2.4. It is the minimum of what the deviation adds to the round trip
// (rttEstimator), not of the whole.
type rto struct {
	value    unit.Time
	backoff  int   // doublings since the last sample, and probes of a closed window (icsk_backoff)
	retries  int   // timeouts since the cumulative acknowledgement last moved
	timeouts int64 // since the start
}

// newRTO returns the timeout before the first sample (RFC 6298 §2.1: 1 s).
func newRTO(initial unit.Time) rto { return rto{value: initial} }

// follow sets the timeout from a new estimate (RFC 6298 §2.2, §2.3). This ends the backoff (RFC 6298 §5: a new
// measurement "may result in collapsing RTO back down").
func (r *rto) follow(e *rttEstimator) { r.value, r.backoff = e.timeout(), 0 }

// double doubles the timeout (RFC 6298 §5.5), up to the limit of RFC 6298 §2.5.
func (r *rto) double() { r.value = transport.BackOff(r.value, 1, largestRTO) }

// expire counts an expiry of the timer, and doubles the timeout (RFC 6298 §5.5).
func (r *rto) expire() {
	r.retries++
	r.backoff++
	r.double()
}

// mustGiveUp reports whether the connection is to be given up (RFC 9293 §3.8.3, tcp_retries2). A peer with a closed
// window does not exhaust it as long as it answers: then retries becomes 1.
func (r *rto) mustGiveUp(closedWindow bool) bool {
	if closedWindow && r.retries > 0 {
		r.retries = 1
	}
	return r.retries >= maxRetries
}

// repeatSYN handles the expiry for a SYN or SYN-ACK, and reports whether to resend it, with a doubled timeout.
func (r *rto) repeatSYN() bool {
	if r.retries++; r.retries > synRetries {
		return false
	}
	r.double()
	return true
}

// persist returns how long to wait for the answer to the next probe of a closed window, at least minWait (RFC 9293
// §3.8.6.1: backed off like the retransmission timeout). Each call doubles the next wait, without a change of value.
func (r *rto) persist(minWait unit.Time) unit.Time {
	r.backoff = min(r.backoff+1, 16)
	return transport.BackOff(max(r.value, minWait), min(r.backoff, 10), largestRTO)
}
