package lab

import (
	"errors"
	"fmt"
	"syscall"

	"weir/core/packet"
	"weir/core/unit"
)

// departures is what a driver of gates keeps of the frames that leave by them, and of what went wrong. Data plane and
// hosts have it.
type departures struct {
	clock   func() unit.Time
	book    *packet.Book
	give    func(p *packet.Packet) // takes back a packet whose frame has left
	failed  error
	counts  Counts
	late    unit.Histogram
	latest  unit.Time
	stall   unit.Time
	waits   []Wait
	retryAt unit.Time
}

// ready makes room for all that will come.
func (d *departures) ready() {
	d.retryAt = unit.Never
	d.late.Add(1000 * unit.Second)
	d.late.Reset()
	d.waits = make([]Wait, 0, mostWaits)
}

// outlet gives frames to a gate.
type outlet struct {
	from *departures
	gate Gate
	name string // of the host
	// What was put and not flushed, whose frames the gate has not copied: the packets, and when
	// they should have left.
	leaving [batch]*packet.Packet
	due     [batch]unit.Time
	pending int
	retries int
	// Frames of packets that come without bytes: as many as can be pending, and one more.
	emitted [batch + 1][]byte
	next    int // of emitted
	// The next frame is addressed to this one, in place of its packet's destination.
	to        [6]byte
	addressed bool
}

// batch is how many frames are given to a kernel in one call, at most.
const batch = 64

// leave puts p's frame into the gate. p is the outlet's until that has been flushed.
func (o *outlet) leave(due unit.Time, p *packet.Packet) {
	d, data := o.from, p.Data
	if data == nil { // of a switch, or of a host of Weir's own
		var err error
		if data, err = p.Emit(d.book, o.emitted[o.next][:0]); err != nil {
			d.counts.Unwritable++
			d.give(p)
			return
		}
		o.emitted[o.next] = data
		o.next = (o.next + 1) % len(o.emitted)
	}
	if o.addressed {
		copy(data, o.to[:])
		o.addressed = false
	}
	for range 2 {
		if o.put(due, p, data) {
			return
		}
		o.flush()
	}
	if !o.put(due, p, data) {
		d.counts.SendLost++
		d.give(p)
	}
}

// put is leave, if there is room.
func (o *outlet) put(due unit.Time, p *packet.Packet, data []byte) bool {
	if o.pending == batch || !o.gate.Put(data) {
		return false
	}
	o.leaving[o.pending], o.due[o.pending] = p, due
	o.pending++
	return true
}

// flushed gives up the packets that were pending: their frames have left, or will not.
func (o *outlet) flushed() {
	for _, p := range o.leaving[:o.pending] {
		o.from.give(p)
	}
	o.retries, o.pending = 0, 0
}

// retryAfter is when frames that a kernel did not take are offered to it again, and
// mostRetries how often until they are given up.
const (
	retryAfter  = 100 * unit.Microsecond
	mostRetries = 100
)

// flushAll sends the frames in the gate, if there are any.
func (o *outlet) flushAll() {
	if o.pending > 0 {
		o.flush()
	}
}

// flush sends the frames in the gate, and records how late that is.
func (o *outlet) flush() {
	d := o.from
	now := d.clock()
	switch err := o.gate.Flush(); {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS):
		if o.retries++; o.retries <= mostRetries {
			d.retryAt = min(d.retryAt, now+retryAfter)
			return
		}
		lost := o.gate.Drop()
		d.counts.SendLost += uint64(lost)
		d.counts.Out += uint64(o.pending - lost)
		o.flushed()
		return
	case err != nil:
		if d.failed == nil {
			d.failed = fmt.Errorf("host %s: %w", o.name, err)
		}
		o.gate.Drop()
		o.flushed()
		return
	}
	d.counts.Out += uint64(o.pending)
	for _, due := range o.due[:o.pending] {
		late := now - due
		d.late.Add(late)
		d.latest = max(d.latest, late)
	}
	o.flushed()
}
