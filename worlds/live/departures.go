package live

import (
	"weir/core/packet"
	"weir/core/unit"
)

// FrameCounters are a thread's counters of frames at gates, in addition to the fabric's.
type FrameCounters struct {
	In, Out    uint64    // frames received from hosts, and sent to them
	NonIP      uint64    // frames of In that are neither IPv4, IPv6 nor PFC (ARP, …): dropped
	Unwritable uint64    // packets of switches that cannot be encoded as frames: dropped
	SendLost   uint64    // frames that a host's kernel refused
	Belated    uint64    // frames of In that were seen after later events had been processed
	BelatedBy  unit.Time // largest such delay
}

// Departures counts the frames that depart through the transmit queues of one thread, and failures. Threads that
// drive a plane or Weir's own hosts have one.
type Departures struct {
	Counts  FrameCounters
	Err     error             // error that ended the run; nil while it continues
	Stall   unit.Time         // longest time by which due work was delayed
	Waits   []SchedulingDelay // all delays of at least MinWait, up to MaxWaits
	RetryAt unit.Time         // time to offer refused frames again; unit.Never: no frame waits
	// Release takes back a packet after its frame was sent or dropped.
	Release func(p *packet.Packet)

	clock  func() unit.Time
	book   *packet.Book
	late   unit.Histogram
	latest unit.Time
}

// NewDepartures returns the counters of a thread. Its packets have addresses of book, and clock returns the event time.
// The caller sets Release before the first packet departs.
func NewDepartures(clock func() unit.Time, book *packet.Book) Departures {
	d := Departures{clock: clock, book: book, RetryAt: unit.Never, Waits: make([]SchedulingDelay, 0, MaxWaits)}
	d.late.Add(1000 * unit.Second) // allocate for all later values
	d.late.Reset()
	return d
}

// Fail ends the run with an error unless it has ended with one before.
func (d *Departures) Fail(err error) {
	if d.Err == nil {
		d.Err = err
	}
}

// SchedulingDelay is a period by which due work of its thread was delayed.
type SchedulingDelay struct{ At, Length unit.Time }

// Waits of at least MinWait are recorded, up to MaxWaits of them.
const (
	MinWait  = 500 * unit.Microsecond
	MaxWaits = 1 << 14
)

// RecordWait records that work due at one time was done at now, in Stall and, from MinWait on, in Waits. Beyond
// MaxWaits it extends the last wait. It has no effect if now is not later.
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
	default: // too many: extend the last one
		last := &d.Waits[MaxWaits-1]
		last.Length = now - last.At
	}
}

// Lateness summarizes the delays between the event times of frames and their departures by the wall clock.
type Lateness struct {
	Frames              uint64
	P50, P99, P999, Max unit.Time
	// Below counts frames by powers of two: Below[i] frames were late by at least 2^(i-1) and less than 2^i ns.
	Below []uint64
}

// Lateness returns the lateness of the departed frames since the start.
func (d *Departures) Lateness() Lateness { return newLateness(&d.late, d.latest) }

// newLateness summarizes a histogram; largest is its largest value. Quantiles are middles of the histogram's classes.
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
