package tm

import (
	"fmt"
	"math"

	"weir/core/scheme"
	"weir/core/unit"
)

// CoDel is the law of RFC 8289. If a queue's delay stays above a target for an interval, a packet is dropped. Further
// drops follow, at distances that shrink with the root of their number, until the delay is below the target.
type CoDel struct {
	Target, Interval unit.Time
	ECN              bool       // packets are marked where possible, in place of being dropped
	MaxPacket        unit.Bytes // a queue of this size or less is never too long
}

// Params binds the options of CoDel to the fields of c, which keep their values.
func (c *CoDel) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "5ms", "target delay of a persistent queue; 5 to 10 % of the interval",
		"RFC 8289 §4").Above("0s").Max("10s")
	p.Time(&c.Interval, "interval", "100ms", "time for which the delay may exceed the target: the longest usual "+
		"round-trip time", "RFC 8289 §4").Above("0s").Max("100s")
	p.Bool(&c.ECN, "ecn", "true", "mark packets of senders that support ECN instead of dropping them",
		"RFC 8290 §5.2.6; RFC 8289 §5: drops only")
	p.Size(&c.MaxPacket, "max_packet", "1514 B", "queue up to which no packet is dropped or marked; at least the "+
		"largest frame; raise it at ports that send bursts at a time", "RFC 8289 §5: maxpacket").Min("64 B").Max("1MB")
	p.AddRule("target", func() error { return c.checkTarget() })
}

// CoDelState is the law's state of one queue.
type CoDelState struct {
	above      unit.Time // when the delay will have been above the target for an interval; 0: it is below
	next       unit.Time // time of the next drop
	count      uint32    // packets since dropping began
	firstCount uint32    // count when it began
	dropping   bool
	behind     behind
}

// behind is the event before a packet: in the RFC, a drop and the next packet are one step.
type behind uint8

const (
	behindNone  behind = iota
	behindFirst        // the drop that dropping began with: this packet always passes
	behindDrop         // a further drop: dropping may end, or continue at once
)

// Signal is the decision of a law on a packet.
type Signal uint8

// Signals.
const (
	Pass Signal = iota
	Mark
	Drop
)

// nextTime returns the time of the next drop after one at t (RFC 8289 §5: control_law).
func (c *CoDel) nextTime(t unit.Time, count uint32) unit.Time {
	return t + unit.Time(float64(c.Interval)/math.Sqrt(float64(count)))
}

// JudgePacket decides on a packet that leaves its queue at now, after a wait of sojourn. remaining is the rest of the
// queue in bytes, and markable reports whether the packet can be marked. It changes the state, but not the packet.
// Without ECN in c, no packet is marked.
func (s *CoDelState) JudgePacket(c *CoDel, now, sojourn unit.Time, remaining unit.Bytes, markable bool) Signal {
	due := false // RFC 8289 §5, dodequeue: ok_to_drop
	switch {
	case sojourn < c.Target || remaining <= c.MaxPacket:
		s.above = 0
	case s.above == 0:
		s.above = now + c.Interval
	default:
		due = now >= s.above
	}
	was := s.behind
	s.behind = behindNone
	switch {
	case was == behindFirst:
		return Pass
	case s.dropping && !due:
		s.dropping = false
		return Pass
	case s.dropping:
		if was == behindDrop {
			s.next = c.nextTime(s.next, s.count)
		}
		if now < s.next {
			return Pass
		}
		s.count++
		if markable && c.ECN {
			s.next = c.nextTime(s.next, s.count)
			return Mark
		}
		s.behind = behindDrop
		return Drop
	case due:
		return s.beginDropping(c, now, markable)
	}
	return Pass
}

// beginDropping enters dropping. Soon after the last time it continues at the rate that controlled the queue then. It
// returns Mark or Drop for the first packet.
func (s *CoDelState) beginDropping(c *CoDel, now unit.Time, markable bool) Signal {
	delta := s.count - s.firstCount
	s.dropping, s.count = true, 1
	if delta > 1 && now-s.next < 16*c.Interval {
		s.count = delta
	}
	s.next, s.firstCount = c.nextTime(now, s.count), s.count
	if markable && c.ECN {
		return Mark
	}
	s.behind = behindFirst
	return Drop
}

// noteEmpty resets the state when the queue is found empty.
func (s *CoDelState) noteEmpty() { s.above, s.dropping, s.behind = 0, false, behindNone }

// checkTarget returns an error unless the target is below the interval.
func (c *CoDel) checkTarget() error {
	if c.Target >= c.Interval {
		return fmt.Errorf("%v is not below the interval, %v: a queue has to be watched for longer than it may be",
			c.Target, c.Interval)
	}
	return nil
}
