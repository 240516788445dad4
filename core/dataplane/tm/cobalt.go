package tm

import (
	"math"

	"weir/core/unit"
)

// cobalt is CAKE's law of one queue: CoDel, for flows that react, beside BLUE, for those that do not (CAKE §III; the
// order of steps is that of tc-cake: sch_cake.c). CoDel is a variant that has no memory of its own but its count, which
// falls with time as it rises, so that it need not be told where dropping begins again.
type cobalt struct {
	// next is when CoDel's next packet goes; while count is 0, until when the queue is kept in mind.
	next     unit.Time
	changed  unit.Time // when BLUE's probability changed last
	chance   uint32    // BLUE's probability, in parts of 2³²
	count    uint32    // of CoDel
	dropping bool
}

// BLUE's steps, in parts of 2³² (tc-cake: sch_cake.c, p_inc and p_dec). The paper on BLUE has them as δ1 and δ2, the
// first much larger than the second.
const (
	blueUp   uint32 = 1 << 24 // 1/256, when a packet of the queue gave way to others
	blueDown uint32 = 1 << 20 // 1/4096, when the queue was found empty
)

// longAgo is before all times of a run.
const longAgo = -1000 * unit.Second

// law is when the next packet goes: CoDel's, and after an interval where count is 0.
func (s *cobalt) law(c *cobaltTimes) {
	s.next += unit.Time(float64(c.interval) / math.Sqrt(float64(max(s.count, 1))))
}

// cobaltTimes are those of a port.
type cobaltTimes struct {
	target, interval unit.Time
	frame            unit.Time // that the port sends a large frame
}

// at fits the times to how long the port sends a large frame: on slow links one and a half must fit into the target
// (tc-cake: sch_cake.c, cake_set_rate).
func (c *cobaltTimes) at(target, interval, frame unit.Time) {
	c.frame = frame
	c.target = max(target, frame*3/2)
	c.interval = max(interval+c.target-target, 2*c.target)
}

// full is told that a packet of the queue gave way for want of room. BLUE's probability changes once a target at
// most, and CoDel goes on at once.
func (s *cobalt) full(c *cobaltTimes, now unit.Time) {
	if now-s.changed > c.target {
		if s.chance += blueUp; s.chance < blueUp {
			s.chance = math.MaxUint32
		}
		s.changed = now
	}
	s.dropping, s.next, s.count = true, now, max(s.count, 1)
}

// empty is told that the queue had its turn and no packets.
func (s *cobalt) empty(c *cobaltTimes, now unit.Time) {
	if s.chance > 0 && now-s.changed > c.target {
		s.chance -= min(s.chance, blueDown)
		s.changed = now
	}
	s.dropping = false
	if s.count > 0 && now >= s.next {
		s.count--
		s.law(c)
	}
}

// rests reports whether nothing of the queue's past matters any more.
func (s *cobalt) rests(now unit.Time) bool { return s.chance == 0 && s.count == 0 && now >= s.next }

// leaves decides on a packet that leaves after it has waited for sojourn. CoDel marks what can be marked; BLUE drops
// that, too: who does not react does not heed marks either. random is uniform in 0 … 2³² − 1; it is asked for only
// where BLUE is at work.
func (s *cobalt) leaves(c *cobaltTimes, now, sojourn unit.Time, markable bool, random func() uint32) (mark, drop bool) {
	late := now - s.next // its sign says whether a packet is due
	due := s.count > 0 && late >= 0
	if sojourn > c.target && sojourn > 4*c.frame {
		if !s.dropping {
			s.dropping, s.next = true, now
			s.law(c)
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
		s.law(c)
		late = now - s.next
	} else {
		for ; due; due = s.count > 0 && late >= 0 {
			s.count--
			s.law(c)
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
