package telemetry

import "weir/core/unit"

// Hop is one switch's record of the egress port that a packet left by, read at a single moment: right
// after the packet was taken out of the queue (draft-miao §6.1: "at the single snapshot").
type Hop struct {
	Time    unit.Time  // of the switch's clock, at dequeue
	TxBytes uint64     // sent by the port before this packet (HPCC's simulator counts so too)
	Queue   unit.Bytes // that wait at the egress port after the dequeue: without this packet
	Rate    unit.Rate  // of the port; 0: the hop says nothing of use
	Sojourn unit.Time  // of this packet in the switch (draft-miao §9.4)
	Switch  uint32     // identity of the switch
	Port    uint16     // and of its egress port
	Flags   uint8
}

// Flags of a Hop: what it does not have.
const (
	NoSwitch  uint8 = 1 << iota // the format does not carry Switch and Port
	NoSojourn                   // nor Sojourn
	Restart                     // not to be compared with earlier records: how often a field wrapped is not known
)

// MaxHops is how many hops Records hold. HPCC §4.1 finds five enough in a data centre; formats that grow at
// each hop have room for more.
const MaxHops = 16

// PathBits is the width of a path's identity: the XOR of so many low bits of the
// switches' (HPCC §4.1). Two paths can share one: over the same switches in another
// order, or by chance, 1 in 4096.
const PathBits = 12

// Records are the hops of one packet's path, oldest first. The zero value is empty.
type Records struct {
	hops   [MaxHops]Hop
	n      uint8
	missed uint8
	path   uint16
}

// Append adds a hop. When there is no room it returns false: the hop is counted as
// missed, its switch enters the path's identity, and the first hops stay as they are.
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

// Len is how many hops there are.
func (r *Records) Len() int { return int(r.n) }

// At returns hop i, which is below Len, as a view.
func (r *Records) At(i int) *Hop { return &r.hops[i] }

// Hops returns the hops as a view, good until the records change.
func (r *Records) Hops() []Hop { return r.hops[:r.n:r.n] }

// Missed is how many hops found no room, at most 255.
func (r *Records) Missed() int { return int(r.missed) }

// Path is the path's identity: the XOR of the switches', missed ones too, with PathBits.
func (r *Records) Path() uint16 { return r.path }

// Reset empties the records; the room stays.
func (r *Records) Reset() { r.n, r.missed, r.path = 0, 0, 0 }
