package live

import (
	"errors"
	"fmt"
	"syscall"

	"weir/core/packet"
	"weir/core/unit"
)

// TxQueue sends frames through a gate, in batches.
type TxQueue struct {
	Gate Gate

	departures *Departures
	name       string // of the host
	// Frames put and not flushed, which the gate has not copied: their packets and due times.
	leaving [batchSize]*packet.Packet
	due     [batchSize]unit.Time
	pending int
	retries int
	// Buffers for frames of packets without bytes: one more than can be pending.
	emitted [batchSize + 1][]byte
	next    int // index into emitted
	// Destination of the next frame in place of its packet's, if addressed.
	to        [6]byte
	addressed bool
}

// NewTxQueue returns the queue of a host's gate. Errors name the host.
func (d *Departures) NewTxQueue(host string, gate Gate) *TxQueue {
	return &TxQueue{Gate: gate, departures: d, name: host}
}

// batchSize limits the frames passed to a kernel in one call.
const batchSize = 64

// Send puts the frame of p, due at the given event time, into the gate, which may send pending ones. p belongs to the
// queue, which releases it after it is sent. A packet that cannot be encoded or finds no space is counted and released.
// With addressed it first overwrites the destination in the frame.
func (q *TxQueue) Send(due unit.Time, p *packet.Packet) {
	d, data := q.departures, p.Data
	if data == nil { // from a switch, or one of Weir's own hosts
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
		if q.putFrame(due, p, data) {
			return
		}
		q.sendPending()
	}
	if !q.putFrame(due, p, data) {
		d.Counts.SendLost++
		d.Release(p)
	}
}

// putFrame puts a frame into the gate and reports whether there was space, in the gate and among the pending ones. The
// packet p is then pending.
func (q *TxQueue) putFrame(due unit.Time, p *packet.Packet, data []byte) bool {
	if q.pending == batchSize || !q.Gate.Put(data) {
		return false
	}
	q.leaving[q.pending], q.due[q.pending] = p, due
	q.pending++
	return true
}

// releasePending releases the pending packets, after their frames were sent or dropped.
func (q *TxQueue) releasePending() {
	for _, p := range q.leaving[:q.pending] {
		q.departures.Release(p)
	}
	q.retries, q.pending = 0, 0
}

// Refused frames are offered again after retryAfter, and dropped after maxRetries.
const (
	retryAfter = 100 * unit.Microsecond
	maxRetries = 100
)

// Flush sends the pending frames. Refused ones stay pending until Departures.RetryAt.
func (q *TxQueue) Flush() {
	if q.pending > 0 {
		q.sendPending()
	}
}

// sendPending sends the frames in the gate, records their lateness and releases their packets. Refused frames are
// offered again later (Departures.RetryAt), and dropped after maxRetries; another error ends the run.
func (q *TxQueue) sendPending() {
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
