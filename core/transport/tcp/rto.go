package tcp

import (
	"weir/core/transport"
	"weir/core/unit"
)

// rto is the retransmission timeout (RFC 6298) with its backoff: how long the timer runs, not
// the timer itself. Linux has 200 ms for the second of §2.4, and as the least of what the
// deviation adds to the round trip (rttEstimator), not of the whole.
type rto struct {
	value    unit.Time
	backoff  int   // doublings since the last sample, and probes of a closed window (icsk_backoff)
	retries  int   // timeouts since the cumulative acknowledgement last moved
	timeouts int64 // since the start
}

// newRTO is §2.1: its initial value, 1 s, until there is a sample.
func newRTO(initial unit.Time) rto { return rto{value: initial} }

// follow sets the timeout from a fresh estimate (§2.2, §2.3), which ends the backoff (§5: a
// new measurement "may result in collapsing RTO back down").
func (r *rto) follow(e *rttEstimator) { r.value, r.backoff = e.timeout(), 0 }

// double is §5.5, with the bound of §2.5.
func (r *rto) double() { r.value = transport.BackOff(r.value, 1, largestRTO) }

// expire is what the timer's expiry does to the timeout (§5.5).
func (r *rto) expire() {
	r.retries++
	r.backoff++
	r.double()
}

// exhausted reports whether the connection is to be given up (RFC 9293 §3.8.3, tcp_retries2). A
// peer that has shrunk its window to nothing is waited for as long as it answers.
func (r *rto) exhausted(closedWindow bool) bool {
	if closedWindow && r.retries > 0 {
		r.retries = 1
	}
	return r.retries >= mostRetries
}

// repeatSYN is the expiry for a SYN or SYN-ACK; false: it was sent often enough.
func (r *rto) repeatSYN() bool {
	if r.retries++; r.retries > synRetries {
		return false
	}
	r.double()
	return true
}

// persist is how long to wait for the answer to the next probe of a closed window, at least
// least (RFC 9293 §3.8.6.1: backed off as the retransmission timeout is).
func (r *rto) persist(least unit.Time) unit.Time {
	r.backoff = min(r.backoff+1, 16)
	return transport.BackOff(max(r.value, least), min(r.backoff, 10), largestRTO)
}
