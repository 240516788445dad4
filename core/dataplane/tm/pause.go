package tm

import "weir/core/unit"

// Classes is the number of PFC's priority classes (IEEE 802.1Q).
const Classes = 8

// Pauses counts the pauses of a port by its neighbour's PFC since the start.
type Pauses struct {
	Frames uint64             // Pause frames that arrived, including renewals of a pause
	Time   [Classes]unit.Time // time in which each class was held
	Any    unit.Time          // time in which some class was held
}

// pauses is a port's state of PFC (IEEE 802.1Qbb).
type pauses struct {
	total Pauses
	held  uint8              // bit c: class c is held
	since [Classes]unit.Time // of the classes that are held
	until [Classes]unit.Time // end of the pause; unit.Never: not before a resume
	any   unit.Time          // start of the time in which some class is held
}

// quantum is the unit of a pause's time, in bits at the port's rate. On a port with a rate in packets, a packet
// counts as packetBits.
const (
	quantum    = 512
	packetBits = 12_000
)

// ApplyPause applies a Pause frame for a class. The class's queue is held for this many quanta, of 512 bit times, from
// now on or, with 0, until ApplyResume. Classes without a queue of their own share the port's last one, which is held
// while any of them is. A renewal replaces the end of the pause.
func (p *Port) ApplyPause(now unit.Time, class uint8, quanta int64) {
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
	p.applyHolds()
}

// ApplyResume applies a Resume frame for a class. It counts the time for which the class was held. A class that is not
// held stays as it is.
func (p *Port) ApplyResume(now unit.Time, class uint8) {
	s, class := p.pauses, class%Classes
	if s == nil || s.held&(1<<class) == 0 {
		return
	}
	s.total.Time[class] += now - s.since[class]
	if s.held &^= 1 << class; s.held == 0 {
		s.total.Any += now - s.any
	}
	p.applyHolds()
}

// applyHolds sets the queues that are paused, by the classes that are held. Classes beyond the last queue hold that
// one.
func (p *Port) applyHolds() {
	held, last := uint16(p.pauses.held), p.last
	set := held & (1<<last - 1)
	if held>>last != 0 {
		set |= 1 << last
	}
	p.paused = set
}

// ExpirePauses ends the pauses that have run out by now, as ApplyResume does.
func (p *Port) ExpirePauses(now unit.Time) {
	if s := p.pauses; s != nil {
		for class := range uint8(Classes) {
			if s.held&(1<<class) != 0 && s.until[class] <= now {
				p.ApplyResume(now, class)
			}
		}
	}
}

// NextExpiry returns the time when the first pause ends by itself; unit.Never if no pause does.
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

// HeldClasses returns the classes that PFC holds now, as a bit set.
func (p *Port) HeldClasses() uint8 {
	if p.pauses == nil {
		return 0
	}
	return p.pauses.held
}

// HeldSince returns the time since which PFC holds a class; unit.Never if it is not held. class is below Classes.
func (p *Port) HeldSince(class uint8) unit.Time {
	if p.HeldClasses()&(1<<class) == 0 {
		return unit.Never
	}
	return p.pauses.since[class]
}

// Pauses returns the counts up to now, including the elapsed part of a current pause.
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
