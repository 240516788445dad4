package transport

import "weir/core/unit"

// RTO is a retransmission timer (RFC 6298): how long a sender waits for an answer, and since when it waits. The timeout
// follows the measured round trips, has a floor, and doubles for each expiry until there is progress.
type RTO struct {
	Trip       RoundTrip
	BaseRTT    unit.Time // round trip without queues; 0: unknown
	Floor      unit.Time // shortest timeout
	MinFirst   unit.Time // shortest timeout before the first sample of the round trip
	MaxTimeout unit.Time // limit of the doubled timeout, at least the timeout without doubling; 0: 64 times that
	Fixed      bool      // the timeout is the floor, doubled: it does not follow the round trips

	Backoff   int       // doublings since the latest progress
	WaitStart unit.Time // when the wait began
	Timeouts  int64     // expiries since the start
}

// maxBackoff limits the doublings of a timeout without another limit.
const maxBackoff = 6

// FirstTimeout returns the timeout before the first sample, for a round trip of rtt without queues. It is the timeout
// after a sample of rtt (RFC 6298 §2.2).
func FirstTimeout(rtt unit.Time) unit.Time { return 3 * rtt }

// BackOff returns wait doubled the given number of times, but at most longest (RFC 6298 §5.5).
func BackOff(wait unit.Time, times int, longest unit.Time) unit.Time {
	for ; times > 0 && wait < longest; times-- {
		wait *= 2
	}
	return min(wait, longest)
}

// BackOff64 returns wait doubled the given number of times, but at most 64 times wait.
func BackOff64(wait unit.Time, times int) unit.Time { return wait << min(times, maxBackoff) }

// Timeout returns the timeout with the current floor and doublings.
func (t *RTO) Timeout() unit.Time { return t.TimeoutWith(t.Floor, t.Backoff) }

// TimeoutWith returns the timeout with this floor and number of doublings. Before the first sample it is at least
// MinFirst. MaxTimeout limits the doublings, or 64 times the timeout.
func (t *RTO) TimeoutWith(floor unit.Time, backoff int) unit.Time {
	wait := floor
	switch {
	case t.Fixed:
	case t.Trip.Smoothed > 0:
		wait = max(wait, t.Trip.Timeout())
	default:
		wait = max(wait, t.MinFirst)
	}
	if backoff == 0 { // every limit is at least wait
		return wait
	}
	longest := max(wait, t.MaxTimeout)
	if t.MaxTimeout == 0 {
		longest = BackOff64(max(wait, t.Floor), maxBackoff)
	}
	return BackOff(wait, backoff, longest)
}

// RestartWait begins a wait after progress, without doublings.
func (t *RTO) RestartWait(now unit.Time) { t.Backoff, t.WaitStart = 0, now }

// RecordExpiry begins a wait that is twice as long. It does not count Timeouts, which the sender does.
func (t *RTO) RecordExpiry(now unit.Time) {
	t.Backoff++
	t.WaitStart = now
}

// RTT returns the smoothed round-trip time, or before the first sample the round trip without queues; 0: unknown.
func (t *RTO) RTT() unit.Time {
	if t.Trip.Smoothed > 0 {
		return t.Trip.Smoothed
	}
	return t.BaseRTT
}

// RTTWithin returns RTT, but no more than limit, or limit where the round trip is unknown.
func (t *RTO) RTTWithin(limit unit.Time) unit.Time {
	if rtt := t.RTT(); rtt > 0 {
		return min(rtt, limit)
	}
	return limit
}

// MinRTT returns the shortest round-trip time that was measured, or before the first sample the one without queues; 0:
// unknown.
func (t *RTO) MinRTT() unit.Time {
	if t.Trip.Min > 0 {
		return t.Trip.Min
	}
	return t.BaseRTT
}
