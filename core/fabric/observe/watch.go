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

// Add adds watch i. Its samples are an interval above 0 apart, the first one at start and the last one before end. If
// end is not after start, the watch has no samples.
func (s *Schedule) Add(i int, interval, start, end unit.Time) {
	if start >= end {
		return
	}
	k := 0
	for k < len(s.periods) && (s.periods[k].every != interval || s.periods[k].next != start || s.periods[k].until != end) {
		k++
	}
	if k == len(s.periods) {
		s.periods = append(s.periods, period{every: interval, next: start, until: end})
	}
	s.periods[k].watches = append(s.periods[k].watches, i)
}

// NextSample returns the time of the next sample; unit.Never if no sample is left.
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
