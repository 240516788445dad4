package live

import (
	"errors"
	"fmt"
	"syscall"

	"weir/core/packet"
	"weir/core/unit"
)

// TxQueue gives frames to a gate, in batches.
type TxQueue struct {
	Gate Gate

	departures *Departures
	name       string // of the host
	// What was put and not flushed, the gate having no copy of the frames: the packets, and when
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

// NewTxQueue returns the queue of a host's gate. Errors name the host.
func (d *Departures) NewTxQueue(host string, gate Gate) *TxQueue {
	return &TxQueue{Gate: gate, departures: d, name: host}
}

// batch limits how many frames are given to a kernel in one call.
const batch = 64

// Send puts p's frame, which is due at a time, into the gate. p belongs to the queue until that has been flushed.
func (q *TxQueue) Send(due unit.Time, p *packet.Packet) {
	d, data := q.departures, p.Data
	if data == nil { // of a switch, or of a host of Weir's own
		var err error
		if data, err = p.Emit(d.book, q.emitted[q.next][:0]); err != nil {
			d.Counts.Unwritable++
			d.Release(p)
			return
		}
		q.emitted[q.next] = data
		q.next = (q.next + 1) % len(q.emitted)
	}
	if q.addressed {
		copy(data, q.to[:])
		q.addressed = false
	}
	for range 2 {
		if q.put(due, p, data) {
			return
		}
		q.flush()
	}
	if !q.put(due, p, data) {
		d.Counts.SendLost++
		d.Release(p)
	}
}

// put puts a frame into the gate, if there is room.
func (q *TxQueue) put(due unit.Time, p *packet.Packet, data []byte) bool {
	if q.pending == batch || !q.Gate.Put(data) {
		return false
	}
	q.leaving[q.pending], q.due[q.pending] = p, due
	q.pending++
	return true
}

// releasePending gives up the packets that were pending: their frames have left, or will not.
func (q *TxQueue) releasePending() {
	for _, p := range q.leaving[:q.pending] {
		q.departures.Release(p)
	}
	q.retries, q.pending = 0, 0
}

// Frames that a kernel did not take are offered again after retryAfter, and given up after maxRetries.
const (
	retryAfter = 100 * unit.Microsecond
	maxRetries = 100
)

// Flush sends the frames in the gate, if there are any.
func (q *TxQueue) Flush() {
	if q.pending > 0 {
		q.flush()
	}
}

// flush sends the frames in the gate, and records how late that is.
func (q *TxQueue) flush() {
	d := q.departures
	now := d.clock()
	switch err := q.Gate.Flush(); {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS):
		if q.retries++; q.retries <= maxRetries {
			d.RetryAt = min(d.RetryAt, now+retryAfter)
			return
		}
		lost := q.Gate.Drop()
		d.Counts.SendLost += uint64(lost)
		d.Counts.Out += uint64(q.pending - lost)
		q.releasePending()
		return
	case err != nil:
		d.Fail(fmt.Errorf("host %s: %w", q.name, err))
		q.Gate.Drop()
		q.releasePending()
		return
	}
	d.Counts.Out += uint64(q.pending)
	for _, due := range q.due[:q.pending] {
		late := now - due
		d.late.Add(late)
		d.latest = max(d.latest, late)
	}
	q.releasePending()
}
