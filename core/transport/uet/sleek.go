package uet

import (
	"weir/core/packet"
	"weir/core/unit"
)

// recovery is the state of losses that no switch has reported: too many packets have arrived out of order, or a probe
// was answered without delay while packets were not.
type recovery struct {
	on      bool
	until   int64 // numbers before it are recovered
	upTo    int64 // numbers before it were examined
	due     bool  // a probe is to be sent
	probes  int64 // number of the latest one
	probed  unit.Time
	probeAt unit.Time
}

// fillProbe fills p with a probe, which the receiver answers at once.
func (s *Sender) fillProbe(now unit.Time, p *packet.Packet) {
	r := &s.sleek
	r.due = false
	r.probes++
	r.probed = now
	r.probeAt = now + unit.Time(s.config.ProbeAgain*float64(s.law.BaseRTT()))
	s.fillPacket(now, p, r.probes, 0, probing)
}

// findLosses finds losses after acknowledgement a, and sets the time of the next probe. rtt is its round trip; 0:
// unknown.
func (s *Sender) findLosses(now unit.Time, a *answer, rtt unit.Time) {
	r := &s.sleek
	r.probeAt = unit.Never
	switch base := s.law.BaseRTT(); {
	case s.left == 0 && a.expected < s.next:
		r.probeAt = now + base + s.law.TargetDelay()
	case s.left > 0:
		r.probeAt = now + unit.Time(s.config.ProbeFirst*float64(base))
	}
	if a.flags&probing != 0 && rtt > 0 && rtt-s.law.BaseRTT() < s.law.TargetDelay() {
		r.on, r.until, r.upTo = true, s.next, a.expected
	}
	window := s.law.Window()
	threshold := max(min(int64(s.config.SleekFactor*float64(window)), s.law.MaxWindow()),
		int64(s.config.SleekMin)*s.payload)
	if r.on && a.expected >= r.until {
		r.on = false
	}
	if !r.on {
		if a.ahead < threshold/s.payload {
			return
		}
		if s.waits > 0 {
			return
		}
		r.on, r.until = true, s.next
	}
	for n := max(a.expected, r.upTo, s.una); n < r.until && n < a.expected+max(window/s.payload, 1); n++ {
		if x := s.recordOf(n); x.state == flying {
			s.inFlight -= int64(x.size)
			s.queueRepair(n, packet.ResentReceiver)
			r.upTo = n + 1
		}
	}
}
