package telemetry

import "weir/core/unit"

// Hop is a switch's record of a packet's egress port at a single moment: right after the packet was taken out of the
// queue (draft-miao §6.1: "at the single snapshot").
type Hop struct {
	Time    unit.Time  // of the switch's clock, at dequeue
	TxBytes uint64     // sent by the port before this packet (HPCC's simulator counts so too)
	Queue   unit.Bytes // waiting at the egress port after the dequeue: without this packet
	Rate    unit.Rate  // of the port; 0: the record is of no use to laws
	Sojourn unit.Time  // of this packet in the switch (draft-miao §9.4)
	Switch  uint32     // identity of the switch
	Port    uint16     // and of its egress port
	Flags   uint8
}

// Flags of a Hop: values that it does not have.
const (
	NoSwitch  uint8 = 1 << iota // Switch and Port are not carried
	NoSojourn                   // Sojourn is not carried
	Restart                     // not comparable with earlier records: the number of wraps is unknown
)

// MaxHops is the capacity of Records in hops. HPCC §4.1 finds five enough in a data centre; formats that grow at each
// hop have room for more.
const MaxHops = 16

// PathBits is the width in bits of a path's identity: the XOR of the low bits of the switches' identities (HPCC §4.1).
// Two paths can share an identity: with the same switches in another order, or by chance, 1 in 4096.
const PathBits = 12

// Records are the hops of one packet's path, oldest first. The zero value is empty.
type Records struct {
	hops   [MaxHops]Hop
	n      uint8
	missed uint8
	path   uint16
}

// Append adds a hop. Without room it returns false: it counts the hop as missed, adds its switch to the path's
// identity, and keeps the first hops.
func (r *Records) Append(h *Hop) bool {
	if h.Flags&NoSwitch == 0 {
		r.path ^= uint16(h.Switch) & (1<<PathBits - 1)
	}
	if int(r.n) >= MaxHops {
		if r.missed < 255 {
			r.missed++
		}
		return false
	}
	r.hops[r.n] = *h
	r.n++
	return true
}

// Len returns the number of hops.
func (r *Records) Len() int { return int(r.n) }

// At returns hop i, which is below Len, as a view.
func (r *Records) At(i int) *Hop { return &r.hops[i] }

// Hops returns the hops as a view, good until the records change.
func (r *Records) Hops() []Hop { return r.hops[:r.n:r.n] }

// MissedHops returns the number of hops that had no room, at most 255.
func (r *Records) MissedHops() int { return int(r.missed) }

// PathID returns the path's identity, of PathBits: the XOR of all switches' identities, including missed hops.
func (r *Records) PathID() uint16 { return r.path }

// Reset empties the records without releasing their memory.
func (r *Records) Reset() { r.n, r.missed, r.path = 0, 0, 0 }
