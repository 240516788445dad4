package observe

import (
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// Watch is a quantity that is sampled periodically from the end of the warm-up, or from From if that is
// later: sample k is taken k·Every after that.
type Watch struct {
	What        Watched
	Index       int       // of a port (2·link + end), of a flow, of a switch's node or of a job
	Name        string    // of a ProgramMetric
	Every       unit.Time // above 0
	From, Until unit.Time // nothing is sampled before, and from then on; Until 0: to the end
}

// Begins is when the first sample is taken of a run with that warm-up.
func (w *Watch) Begins(warmup unit.Time) unit.Time { return max(w.From, warmup) }

// Ends is when no more are taken.
func (w *Watch) Ends() unit.Time {
	if w.Until == 0 {
		return unit.Never
	}
	return w.Until
}

// Samples is how many there are between the end of the warm-up and that of the run.
func (w *Watch) Samples(warmup, end unit.Time) int64 {
	if w.Until > 0 && w.Until <= end {
		end = w.Until - 1
	}
	if end < w.Begins(warmup) {
		return 0
	}
	return int64((end-w.Begins(warmup))/w.Every) + 1
}

// Watched says what a Watch looks at.
type Watched uint8

// Quantities to watch. SentBytes, SentPackets and ReceivedBytes count from the start of the run and are
// sampled once more at its end, if due. Window to DeliveryRate are −1 outside a flow's life, and for a
// transport that is not transport.Gauged; the last two also before the first sample.
const (
	QueuePackets  Watched = iota // frames that wait at a port
	QueueBytes                   // their bytes
	SentBytes                    // bytes of the frames that left a port
	SentPackets                  // frames that left a port
	ReceivedBytes                // payload that was new to a flow's receiver
	Window                       // congestion window of a flow's sender, in bytes of payload
	Rate                         // pacing rate of a flow's sender, in bit/s of payload
	InFlight                     // bytes of payload that a flow's sender has in flight
	RTT                          // round-trip time as a flow's sender has smoothed it, in ps
	DeliveryRate                 // latest rate at which a flow's payload was delivered, in bit/s
	BufferBytes                  // bytes that wait in all ports of a switch
	// ProgramMetric is a metric of a switch's programs (dataplane.Metered), the sum of its samples, as bits of a
	// floating-point number; it is sampled once more at the end, too.
	ProgramMetric
	MessageBytes // payload of a job's messages that was new to their receivers; counts like ReceivedBytes
)

// Counts reports whether the quantity only grows: its growth at the end of a run then belongs to the last
// interval.
func (w Watched) Counts() bool {
	return w == SentBytes || w == SentPackets || w == ReceivedBytes || w == ProgramMetric || w == MessageBytes
}

// OfSwitch reports whether the index is that of a node that is a switch.
func (w Watched) OfSwitch() bool { return w == BufferBytes || w == ProgramMetric }

// OfFlow reports whether the index is that of a flow.
func (w Watched) OfFlow() bool { return w >= ReceivedBytes && w <= DeliveryRate }

// OfPorts reports whether the index is that of a port.
func (w Watched) OfPorts() bool { return w <= SentPackets }

// OfPort reads the watched quantity of a port.
func (w Watched) OfPort(p *tm.Port) int64 {
	switch w {
	case QueuePackets:
		return int64(p.Packets())
	case QueueBytes:
		return int64(p.Bytes())
	case SentBytes:
		return int64(p.TxBytes())
	default:
		return int64(p.TxPackets())
	}
}

// Schedule is when the watches are due. The zero Schedule has none.
type Schedule struct {
	periods []period
	due     []int
}

// period is a time between samples and a part of a run, with the watches that have both.
type period struct {
	every, next, until unit.Time
	watches            []int
}

// Add adds watch i, whose first sample is at from, and whose last before until.
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

// Next is when the next sample is due; unit.Never if there are no watches.
func (s *Schedule) Next() unit.Time {
	next := unit.Never
	for i := range s.periods {
		next = min(next, s.periods[i].next)
	}
	return next
}

// Due returns the watches that are due at now, once. The slice is good until the next call.
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
