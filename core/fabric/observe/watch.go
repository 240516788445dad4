package observe

import (
	"fmt"

	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/unit"
)

// ReadPort returns the present value of a quantity of a port, and does not change the port. q is QueuePackets,
// QueueBytes, SentBytes or SentPackets (outcome.Quantity.OfPort); ReadPort panics for any other quantity.
func ReadPort(q outcome.Quantity, p *tm.Port) int64 {
	switch q {
	case outcome.QueuePackets:
		return int64(p.Packets())
	case outcome.QueueBytes:
		return int64(p.Bytes())
	case outcome.SentBytes:
		return int64(p.TxBytes())
	case outcome.SentPackets:
		return int64(p.TxPackets())
	}
	panic(fmt.Sprintf("observe: quantity %d is not of a port", q))
}

// Schedule has the times at which watches are due. The zero Schedule is empty.
type Schedule struct {
	periods []period
	due     []int
}

// period is a time between samples and a part of a run, with the watches that have both.
type period struct {
	every, next, until unit.Time
	watches            []int
}

// Add adds watch i. Its first sample is at from, and its last one before until.
func (s *Schedule) Add(i int, every, from, until unit.Time) {
	if from >= until {
		return
	}
	k := 0
	for k < len(s.periods) && (s.periods[k].every != every || s.periods[k].next != from || s.periods[k].until != until) {
		k++
	}
	if k == len(s.periods) {
		s.periods = append(s.periods, period{every: every, next: from, until: until})
	}
	s.periods[k].watches = append(s.periods[k].watches, i)
}

// NextSample returns the time of the next sample; unit.Never without watches.
func (s *Schedule) NextSample() unit.Time {
	next := unit.Never
	for i := range s.periods {
		next = min(next, s.periods[i].next)
	}
	return next
}

// Due returns the watches that are due at now, once. now must be the time that NextSample returned: a sample that was
// skipped never becomes due. The slice is valid until the next call.
func (s *Schedule) Due(now unit.Time) []int {
	s.due = s.due[:0]
	for i := range s.periods {
		if p := &s.periods[i]; p.next == now {
			if p.next += p.every; p.next >= p.until {
				p.next = unit.Never
			}
			s.due = append(s.due, p.watches...)
		}
	}
	return s.due
}
