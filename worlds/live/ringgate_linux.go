package live

import (
	"errors"

	"weir/core/unit"
	"weir/internal/ring"
)

// Slots of rings; 4096 frames are 50 ms at a gigabit per second.
const (
	RxSlots = 4096
	TxSlots = batchSize
)

// RingGate is a packet socket with rings as a gate.
type RingGate struct {
	*ring.Socket
	host   string // host or port in errors
	clock  *Clock
	failed error
}

// NewRingGate returns the gate of a host or port at a socket. clock converts the socket's stamps.
func NewRingGate(s *ring.Socket, host string, clock *Clock) *RingGate {
	return &RingGate{Socket: s, host: host, clock: clock}
}

// Stamp returns the kernel's arrival stamp of the first waiting frame in event time; unit.Never without one.
func (g *RingGate) Stamp() unit.Time {
	ns, ok := g.Socket.NextArrival()
	if !ok {
		return unit.Never
	}
	return g.clock.toEventTime(ns)
}

// Counts returns the socket's counters since the start. It keeps errors for CountErr.
func (g *RingGate) Counts() GateCounts {
	c, err := g.Socket.Counts()
	if err != nil {
		g.failed = errors.Join(g.failed, err)
	}
	return GateCounts{Received: c.Received, RingLost: c.Lost, TooLong: c.TooLong, Partial: c.Partial, Tagged: c.Tagged}
}

// CountErr returns the errors of Counts, nil if it never failed.
func (g *RingGate) CountErr() error { return g.failed }

// Drive runs the plane by the wall clock until the descriptor control is readable. It calls read once, and then
// whenever the descriptor more is readable. Without them, pass -1 and nil. The clock must have been started. Errors of
// steps, read and rings end it.
func (d *Plane) Drive(clock *Clock, rings []*RingGate, control, more int, read func() error) error {
	poller := NewPoller(clock, rings, control, more)
	for readable := true; ; {
		if err := d.Step(clock.Read()); err != nil {
			return err
		}
		if readable && read != nil {
			if err := read(); err != nil {
				return err
			}
		}
		var closed bool
		var err error
		if readable, closed, err = poller.Wait(d.Next()); closed || err != nil {
			return err
		}
	}
}
