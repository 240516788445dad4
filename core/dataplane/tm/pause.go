package tm

import "weir/core/unit"

// Classes is how many priority classes PFC tells apart (IEEE 802.1Q).
const Classes = 8

// Pauses counts what a port's neighbour has done to it by PFC since the start.
type Pauses struct {
	Frames uint64             // Pause frames that came in, with those that renew a pause
	Time   [Classes]unit.Time // that each class was held
	Any    unit.Time          // that some class was held
}

// pauses is a port's state of PFC (IEEE 802.1Qbb).
type pauses struct {
	total Pauses
	held  uint8              // bit c: class c is held
	since [Classes]unit.Time // of the classes that are held
	until [Classes]unit.Time // when the pause ends by itself; unit.Never: not before a resume
	any   unit.Time          // since when some class is held
}

// quantum is the unit of a pause's time, in bits at the port's rate; on a port whose
// rate is in packets, a packet counts as packetBits.
const (
	quantum    = 512
	packetBits = 12_000
)

// Pause applies a Pause frame for a class: the class's queue is held for this many quanta from now on or,
// with 0, until Resume. Classes without a queue of their own share the port's last one, which is held
// while any of them is.
func (p *Port) Pause(now unit.Time, class uint8, quanta int64) {
	if p.pauses == nil {
		p.pauses = &pauses{}
	}
	s, class := p.pauses, class%Classes
	s.total.Frames++
	if s.held == 0 {
		s.any = now
	}
	if s.held&(1<<class) == 0 {
		s.held |= 1 << class
		s.since[class] = now
	}
	s.until[class] = unit.Never
	if quanta > 0 {
		bits, rate := float64(quanta)*quantum, float64(p.rate.Bits)
		if p.rate.Packets > 0 {
			rate = float64(p.rate.Packets) * packetBits
		}
		if last := bits / rate * float64(unit.Second); last < float64(unit.Never-now) {
			s.until[class] = now + unit.Time(last)
		}
	}
	p.hold()
}

// Resume applies a Resume frame for a class.
func (p *Port) Resume(now unit.Time, class uint8) {
	s, class := p.pauses, class%Classes
	if s == nil || s.held&(1<<class) == 0 {
		return
	}
	s.total.Time[class] += now - s.since[class]
	if s.held &^= 1 << class; s.held == 0 {
		s.total.Any += now - s.any
	}
	p.hold()
}

// hold stops and releases queues as their classes are held.
func (p *Port) hold() {
	held, last := uint16(p.pauses.held), p.last
	set := held & (1<<last - 1)
	if held>>last != 0 {
		set |= 1 << last
	}
	p.paused = set
}

// Expire ends the pauses whose time is over.
func (p *Port) Expire(now unit.Time) {
	if s := p.pauses; s != nil {
		for class := range uint8(Classes) {
			if s.held&(1<<class) != 0 && s.until[class] <= now {
				p.Resume(now, class)
			}
		}
	}
}

// NextExpiry is when the first pause ends by itself; unit.Never if none does.
func (p *Port) NextExpiry() unit.Time {
	next := unit.Never
	if s := p.pauses; s != nil {
		for class := range Classes {
			if s.held&(1<<class) != 0 {
				next = min(next, s.until[class])
			}
		}
	}
	return next
}

// Held returns the classes that PFC holds now, as a bit set.
func (p *Port) Held() uint8 {
	if p.pauses == nil {
		return 0
	}
	return p.pauses.held
}

// HeldSince returns the time since which PFC holds a class; unit.Never if it does not.
func (p *Port) HeldSince(class uint8) unit.Time {
	if p.Held()&(1<<class) == 0 {
		return unit.Never
	}
	return p.pauses.since[class]
}

// Pauses returns the counts up to now; a current pause counts as far as it has lasted.
func (p *Port) Pauses(now unit.Time) Pauses {
	s := p.pauses
	if s == nil {
		return Pauses{}
	}
	t := s.total
	for class := range Classes {
		if s.held&(1<<class) != 0 {
			t.Time[class] += max(0, now-s.since[class])
		}
	}
	if s.held != 0 {
		t.Any += max(0, now-s.any)
	}
	return t
}
