package agent

import (
	"encoding/binary"
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
)

// ne is the byte order of the machines that the programs are built for.
var ne = binary.LittleEndian

// Nacks describes the effects of switches' NACKs on a connection.
type Nacks struct {
	Taken      uint32 // accepted NACKs
	Repeated   uint32 // NACKs about a transmission no later than the last one's, which have no effect
	Refused    uint32 // NACKs about data that is not outstanding
	Reductions uint32 // times that the bound was set or lowered
	Expired    uint32 // times that the bound expired
	Lowered    uint32 // received segments with a lowered window

	// Values of the last accepted NACK.
	Cause          packet.Cause
	Supply, Demand unit.Rate  // 0: not in the NACK
	Switch         uint32     // 0: not in the NACK
	Age            unit.Time  // since its arrival; 0: no NACK has arrived
	Bound          unit.Bytes // limit of payload in flight, as it was set; 0: no bound is in force
}

// Values of the program's variable follow, and limit of a bound's duration, as in bpf/bound.h.
const (
	followLoss   = 0
	followSupply = 1

	maxHold = 100 * unit.Millisecond
)

// rawNacked mirrors struct nacked of bpf/bound.h.
type rawNacked struct {
	At, Reduced, Sent, Supply, Demand                           uint64
	Seq, Bound, Trip, Node, Cause                               uint32
	Taken, Repeated, Refused, Reductions, Expired, Lowered, Pad uint32
}

// holdTime returns the duration of a bound in ns: two round trips, up to maxHold.
func (r *rawNacked) holdTime() int64 { return min(int64(r.Trip)*2000, int64(maxHold/unit.Nanosecond)) }

// decode parses a struct nacked of bpf/bound.h. now is the kernel's CLOCK_MONOTONIC in ns. A bound older than its
// duration is 0 and counts as expired. It fails if b has another length.
func (n *Nacks) decode(b []byte, now int64) error {
	var r rawNacked
	if k, err := binary.Decode(b, ne, &r); err != nil || k != len(b) {
		return fmt.Errorf("agent: the state of NACKs has %d bytes; expected %d", len(b), binary.Size(&r))
	}
	*n = Nacks{Taken: r.Taken, Repeated: r.Repeated, Refused: r.Refused, Reductions: r.Reductions, Expired: r.Expired,
		Lowered: r.Lowered, Cause: packet.Cause(r.Cause), Supply: unit.Rate(r.Supply), Demand: unit.Rate(r.Demand),
		Switch: r.Node}
	if r.At == 0 {
		return nil
	}
	age := max(now-int64(r.At), 0)
	n.Age = unit.Time(age) * unit.Nanosecond
	switch {
	case r.Bound == 0:
	case age < r.holdTime():
		n.Bound = unit.Bytes(r.Bound)
	default:
		n.Expired++
	}
	return nil
}
