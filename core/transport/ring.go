package transport

import (
	"math/bits"

	"weir/core/unit"
)

// Ring stores an entry for each packet of a window of consecutive numbers. The entry of packet n is at n modulo the
// length, which is a power of two, so that it stays in place while the window moves on. The zero Ring has no room.
type Ring[T any] struct{ entries []T }

// minRing is the minimum length of a Ring that has grown.
const minRing = 16

// NewRing returns a Ring with room for a window of at least length packets.
func NewRing[T any](length int) Ring[T] { return Ring[T]{make([]T, roundUp(length))} }

// roundUp returns the smallest power of two that is not below length.
func roundUp(length int) int { return 1 << bits.Len(uint(max(length, 1)-1)) }

// At returns the entry of packet n, for which Reserve has made room. It is valid until the Ring grows.
func (r *Ring[T]) At(n int64) *T { return &r.entries[n&int64(len(r.entries)-1)] }

// Len returns the length of the longest window that has room.
func (r *Ring[T]) Len() int { return len(r.entries) }

// Reserve makes room for packet n, where the window begins with packet first. It does not clear the entry of n.
func (r *Ring[T]) Reserve(first, n int64) {
	if n-first >= int64(len(r.entries)) {
		r.growTo(first, int(n-first+1))
	}
}

// growTo makes the Ring at least twice as long, with room for length packets from packet first on.
func (r *Ring[T]) growTo(first int64, length int) {
	old := *r
	*r = NewRing[T](max(2*old.Len(), length, minRing))
	for n := first; n < first+int64(old.Len()); n++ {
		*r.At(n) = *old.At(n)
	}
}

// Renew prepares the Ring for another flow, with room for a window of at least length packets. It keeps its memory
// unless the memory has room for more than limit packets. Entries are not cleared.
func (r *Ring[T]) Renew(length, limit int) {
	if r.Len() < length || r.Len() > limit {
		*r = NewRing[T](length)
	}
}

// Flight is one transmission of a packet.
type Flight struct {
	Packet int64
	SentAt unit.Time
}

// Flights are the transmissions of a flow in the order of time. The sender removes the first ones when it knows their
// fate. A transmission is stale if its packet has been transmitted again, has arrived or is lost.
type Flights struct {
	ring        Ring[Flight]
	First, Last int64 // the transmissions from number First on, and before Last
}

// Renew removes all transmissions, and makes room for at least length of them in the existing memory if it suffices.
func (f *Flights) Renew(length int) {
	f.First, f.Last = 0, 0
	f.ring.Renew(length, f.ring.Len())
}

// Record adds a transmission of packet n at the time at, which must not be before the latest one.
func (f *Flights) Record(n int64, at unit.Time) {
	f.ring.Reserve(f.First, f.Last)
	*f.ring.At(f.Last) = Flight{n, at}
	f.Last++
}

// Len returns the number of transmissions.
func (f *Flights) Len() int { return int(f.Last - f.First) }

// At returns transmission number i. It is valid until the next Record.
func (f *Flights) At(i int64) *Flight { return f.ring.At(i) }

// Oldest returns the first transmission; there must be one. It is valid until the next Record.
func (f *Flights) Oldest() *Flight { return f.ring.At(f.First) }

// RemoveOldest removes the first transmission; there must be one.
func (f *Flights) RemoveOldest() { f.First++ }

// OldestLive returns the first transmission that is not stale, as isLive reports; nil: all are stale. It removes the
// stale ones before it. The result is valid until the next Record.
func (f *Flights) OldestLive(isLive func(*Flight) bool) *Flight {
	for ; f.First < f.Last; f.First++ {
		if x := f.Oldest(); isLive(x) {
			return x
		}
	}
	return nil
}
