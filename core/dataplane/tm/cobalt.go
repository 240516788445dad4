package tm

import (
	"math"

	"weir/core/unit"
)

// cobalt is CAKE's law of one queue: CoDel, for responsive flows, with BLUE, for unresponsive ones (CAKE §III; order
// of steps of tc-cake: sch_cake.c). This variant of CoDel has only its count as memory. The count falls with time as
// it rises, so that the law does not need the time at which dropping starts again.
type cobalt struct {
	// next is the time of CoDel's next drop. While count is 0, the queue's state is kept until then.
	next     unit.Time
	changed  unit.Time // when BLUE's probability changed last
	chance   uint32    // BLUE's probability, in parts of 2³²
	count    uint32    // of CoDel
	dropping bool
}

// BLUE's steps, in parts of 2³² (tc-cake: sch_cake.c, p_inc and p_dec). In the paper on BLUE they are δ1 and δ2, the
// first much larger than the second.
const (
	blueUp   uint32 = 1 << 24 // 1/256, when a packet of the queue gave way to others
	blueDown uint32 = 1 << 20 // 1/4096, when the queue was empty
)

// longAgo precedes all times of a run.
const longAgo = -1000 * unit.Second

// scheduleNext advances the time of the next drop by CoDel's law, or by an interval if count is 0.
func (s *cobalt) scheduleNext(c *cobaltTimes) {
	s.next += unit.Time(float64(c.interval) / math.Sqrt(float64(max(s.count, 1))))
}

// cobaltTimes are the times of a port.
type cobaltTimes struct {
	target, interval unit.Time
	frame            unit.Time // time of a large frame on the port
}

// setTimes fits the times to the time of a large frame: on slow links one and a half must fit into the target
// (tc-cake: sch_cake.c, cake_set_rate).
func (c *cobaltTimes) setTimes(target, interval, frame unit.Time) {
	c.frame = frame
	c.target = max(target, frame*3/2)
	c.interval = max(interval+c.target-target, 2*c.target)
}

// noteFull records that a packet of the queue gave way for lack of room. BLUE's probability changes at most once a
// target, and CoDel continues at once.
func (s *cobalt) noteFull(c *cobaltTimes, now unit.Time) {
	if now-s.changed > c.target {
		if s.chance += blueUp; s.chance < blueUp {
			s.chance = math.MaxUint32
		}
		s.changed = now
	}
	s.dropping, s.next, s.count = true, now, max(s.count, 1)
}

// noteEmpty records that the queue had its turn without packets. BLUE's probability falls at most once a target, and
// CoDel's count falls by one if its next drop is due.
func (s *cobalt) noteEmpty(c *cobaltTimes, now unit.Time) {
	if s.chance > 0 && now-s.changed > c.target {
		s.chance -= min(s.chance, blueDown)
		s.changed = now
	}
	s.dropping = false
	if s.count > 0 && now >= s.next {
		s.count--
		s.scheduleNext(c)
	}
}

// isAtRest reports whether the queue's past has no effect any more.
func (s *cobalt) isAtRest(now unit.Time) bool { return s.chance == 0 && s.count == 0 && now >= s.next }

// judgePacket decides on a packet that leaves the queue after a wait of sojourn. CoDel marks packets that can be
// marked. BLUE drops them, too, because unresponsive senders do not respond to marks either. random is uniform in 0 …
// 2³² − 1; it is called only if BLUE's probability is above 0. A packet may be both marked and dropped; then it is
// dropped.
func (s *cobalt) judgePacket(c *cobaltTimes, now, sojourn unit.Time, markable bool, random func() uint32) (mark,
	drop bool) {
	late := now - s.next // its sign shows whether a packet is due
	due := s.count > 0 && late >= 0
	if sojourn > c.target && sojourn > 4*c.frame {
		if !s.dropping {
			s.dropping, s.next = true, now
			s.scheduleNext(c)
		}
		s.count = max(s.count, 1)
	} else {
		s.dropping = false
	}
	if due && s.dropping {
		mark, drop = markable, !markable
		if s.count < math.MaxUint32 {
			s.count++
		}
		s.scheduleNext(c)
		late = now - s.next
	} else {
		for ; due; due = s.count > 0 && late >= 0 {
			s.count--
			s.scheduleNext(c)
			late = now - s.next
		}
	}
	if s.chance > 0 && random() < s.chance {
		drop = true
	}
	if s.count == 0 {
		s.next = now + c.interval
	} else if late > 0 && !drop {
		s.next = now
	}
	return mark, drop
}
