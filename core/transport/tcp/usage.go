package tcp

import (
	"weir/core/cc"
	"weir/core/unit"
)

// usage measures how much of the window is used (tcp_cwnd_validate; RFC 7661 §4.2, RFC 2861).
type usage struct {
	limited bool  // the window limited the sender since seq
	maxOut  int   // maximum of packets that were in flight
	seq     int64 // end of the round
	used    int   // maximum of packets in flight since the window last limited the sender
	since   unit.Time
}

// validateUsage records whether the window limits the sender, and reduces a window that is not used for a
// retransmission timeout (tcp_cwnd_validate). limited: the window is full now.
func (s *Sender) validateUsage(now unit.Time, limited bool) {
	if s.una >= s.usage.seq || limited || !s.usage.limited && s.queue.len() > s.usage.maxOut {
		s.usage.limited, s.usage.maxOut, s.usage.seq = limited, s.queue.len(), s.next
	}
	if s.isLimited() {
		s.usage.used, s.usage.since = 0, now
		return
	}
	s.usage.used = max(s.usage.used, s.queue.len())
	if now-s.usage.since >= s.rto.value && !s.ownRecovery { // tcp_cwnd_application_limited
		if s.state == cc.Open {
			if used := max(s.usage.used, s.config.InitialWindow); used < s.cwnd() {
				s.changeState(now, cc.Loss{Kind: cc.Idled, Window: (s.cwnd() + used) / 2})
			}
			s.usage.used = 0
		}
		s.usage.since = now
	}
}

// isLimited reports whether the window limits the sender (tcp_is_cwnd_limited).
func (s *Sender) isLimited() bool {
	return s.usage.limited || s.control.Decision.IsHalfUsed(int64(s.usage.maxOut), int64(s.cwnd()))
}
