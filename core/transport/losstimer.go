package transport

import (
	"weir/core/cc"
	"weir/core/unit"
)

// LossTimer replaces the timeout of a sender. A missing answer proves no loss: a packet may wait in a queue that other
// flows have filled, or behind a pause, for longer than any round trip that was measured. So the sender does two things
// in place of resending data:
//
//   - It sends a probe, a packet without payload (RFC 8985 §7, RFC 9002 §6.2), after MinProbeWait or the measured
//     timeout, which doubles while no answer arrives. Queues keep the order of a flow. If the probe is answered and a
//     packet that was sent before it is not, that packet is lost.
//   - It declares a packet lost that was sent longer than LossLimit ago, because the path cannot hold it for so long.
//     This covers lost probes and lost answers, and paths that reorder, where a probe proves no loss. If a queue of the
//     path has no limit, there is no LossLimit: then the sender only probes. The limit doubles for each time that it
//     expired since the latest answer (RFC 6298 §5.5), so that the sender does not resend all the time to a dead link.
type LossTimer struct {
	Limit       unit.Time // LossLimit of the path
	ProbesProve bool      // the path keeps packets in order: the answer to a probe proves losses
	Enabled     bool      // the sender has no timeout of its own
	ProbeDue    bool      // a probe is to be sent

	current    unit.Time // Limit, doubled for each DoubleLimit since the latest RecordAnswer
	probedAt   unit.Time // when the latest probe was sent
	number     int64     // number of probes sent
	unanswered bool      // the latest probe is not answered
}

// NewLossTimer returns the LossTimer of path p, not Enabled. replyDelay is the time by which its ends delay answers.
func NewLossTimer(p *cc.Path, replyDelay unit.Time) LossTimer {
	limit := LossLimit(p, replyDelay)
	return LossTimer{Limit: limit, current: limit, ProbesProve: !p.Reorders}
}

// FindsLosses reports whether the timer finds each loss: by a probe, or because the path has a limit.
func (t *LossTimer) FindsLosses() bool { return t.ProbesProve || t.Limit < unit.Never }

// DoubleLimit records that packets were declared lost because the limit expired. The limit doubles, up to 64 times the
// larger of Limit and MinProbeWait, like the wait before a probe.
func (t *LossTimer) DoubleLimit() {
	if t.current>>6 < max(t.Limit, MinProbeWait) && t.current < unit.Never/2 {
		t.current *= 2
	}
}

// RecordAnswer records an answer of the receiver: it resets the limit to Limit.
func (t *LossTimer) RecordAnswer() { t.current = t.Limit }

// RecordProbe records a probe that is sent now, and returns its number, from 1.
func (t *LossTimer) RecordProbe(now unit.Time) int64 {
	t.probedAt, t.unanswered = now, true
	t.number++
	return t.number
}

// UnansweredProbe returns the number of the latest probe; 0 if it was answered, or before the first one.
func (t *LossTimer) UnansweredProbe() int64 {
	if !t.unanswered {
		return 0
	}
	return t.number
}

// RecordProbeAnswer records that the answer to the latest probe has arrived, and returns when the probe was sent. It
// resets the limit like RecordAnswer. Packets sent before it that are not acknowledged are lost, unless the path
// reorders.
func (t *LossTimer) RecordProbeAnswer() (sent unit.Time) {
	t.unanswered, t.current = false, t.Limit
	return t.probedAt
}

// HasExpired reports whether the limit has expired for a packet that was sent at the time sent.
func (t *LossTimer) HasExpired(now, sent unit.Time) bool { return now-sent >= t.current }

// EarliestExpiry returns when the timer expires: the earliest of next, the limit after the wait began, and the time at
// which a packet that was sent at the time sent is declared lost. Without a limit it is next.
func (t *LossTimer) EarliestExpiry(next, began, sent unit.Time) unit.Time {
	if t.current == unit.Never {
		return next
	}
	return min(next, began+t.current, sent+t.current)
}

// MinProbeWait is the shortest time for which a sender waits for an answer before it sends a probe, if the path can
// hold packets for that long (IRN §4.1: RTO_high).
const MinProbeWait = 320 * unit.Microsecond

// LossLimit returns how long a packet can be unanswered on path p before it must be lost: its longest round trip,
// replyDelay by which its ends delay answers, and a quarter of both as margin. unit.Never: there is no limit.
func LossLimit(p *cc.Path, replyDelay unit.Time) unit.Time {
	t := p.MaxRTT()
	if t >= unit.Never/2 {
		return unit.Never
	}
	t += replyDelay
	return t + t/marginDivisor
}

// ExpiryOf returns when a packet that was sent at the time sent is declared lost; unit.Never without a limit.
func (t *LossTimer) ExpiryOf(sent unit.Time) unit.Time {
	if t.current == unit.Never {
		return unit.Never
	}
	return sent + t.current
}
