package live

import (
	"weir/core/packet"
	"weir/core/unit"
)

// FrameCounters are the frame counters of a thread with gates, in addition to the fabric's.
type FrameCounters struct {
	In, Out    uint64    // frames that came from hosts, and that were given to them
	NonIP      uint64    // of In, those that are neither IPv4, IPv6 nor PFC (ARP, …): dropped
	Unwritable uint64    // packets of switches that no frame can carry: dropped
	SendLost   uint64    // frames that a host's kernel did not take
	Belated    uint64    // of In, those that were seen after what came later had happened
	BelatedBy  unit.Time // and by how much at most
}

// Departures accounts for the frames that leave by the transmit queues of one thread, and for what goes wrong there.
// The thread that drives a plane has it, and one that drives hosts of Weir's own.
type Departures struct {
	Counts  FrameCounters
	Err     error             // what ended the run; nil: it goes on
	Stall   unit.Time         // longest time for which something was due and the thread did nothing
	Waits   []SchedulingDelay // all such times of at least MinWait
	RetryAt unit.Time         // when frames that a kernel did not take are offered again; unit.Never: no frame waits
	// Release takes back a packet whose frame has left, or was given up.
	Release func(p *packet.Packet)

	clock  func() unit.Time
	book   *packet.Book
	late   unit.Histogram
	latest unit.Time
}

// NewDepartures returns the account of a thread whose packets have addresses of a book. clock returns the event time.
func NewDepartures(clock func() unit.Time, book *packet.Book) Departures {
	d := Departures{clock: clock, book: book, RetryAt: unit.Never, Waits: make([]SchedulingDelay, 0, MaxWaits)}
	d.late.Add(1000 * unit.Second) // room for all that will come
	d.late.Reset()
	return d
}

// Fail ends the run with an error, unless another one has ended it.
func (d *Departures) Fail(err error) {
	if d.Err == nil {
		d.Err = err
	}
}

// SchedulingDelay is a period in which an event was due but its thread did not run.
type SchedulingDelay struct{ At, Length unit.Time }

// Waits of at least MinWait are kept, up to MaxWaits of them.
const (
	MinWait  = 500 * unit.Microsecond
	MaxWaits = 1 << 14
)

// RecordWait records that what was due at one time is done at another.
func (d *Departures) RecordWait(due, now unit.Time) {
	if due >= now {
		return
	}
	length := now - due
	d.Stall = max(d.Stall, length)
	switch {
	case length < MinWait:
	case len(d.Waits) < MaxWaits:
		d.Waits = append(d.Waits, SchedulingDelay{due, length})
	default: // too many to be kept apart
		last := &d.Waits[MaxWaits-1]
		last.Length = now - last.At
	}
}

// Lateness is how much later than its event time a frame left, by the wall clock.
type Lateness struct {
	Frames              uint64
	P50, P99, P999, Max unit.Time
	// Below counts frames by powers of two: Below[i] were less than 2^i ns late, and not
	// less than half of that.
	Below []uint64
}

// Lateness returns how late the frames left.
func (d *Departures) Lateness() Lateness { return newLateness(&d.late, d.latest) }

// newLateness sums up a histogram of which one value is the largest.
func newLateness(h *unit.Histogram, largest unit.Time) Lateness {
	l := Lateness{Frames: h.Count(), Max: largest}
	sum := uint64(0)
	for _, c := range h.Classes() {
		sum += c.Count
		for _, q := range []struct {
			to    *unit.Time
			share float64
		}{{&l.P50, 0.5}, {&l.P99, 0.99}, {&l.P999, 0.999}} {
			if *q.to == 0 && float64(sum) >= q.share*float64(l.Frames) {
				*q.to = c.Middle()
			}
		}
		power := 0
		for ns := c.Middle() / unit.Nanosecond; ns > 0; ns >>= 1 {
			power++
		}
		for len(l.Below) <= power {
			l.Below = append(l.Below, 0)
		}
		l.Below[power] += c.Count
	}
	return l
}
