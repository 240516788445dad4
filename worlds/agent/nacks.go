package agent

import (
	"encoding/binary"
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
)

// ne is the order of bytes of the machines that programs are built for.
var ne = binary.LittleEndian

// Nacks is what NACKs of switches did to a connection.
type Nacks struct {
	Taken      uint32 // that count
	Repeated   uint32 // about a transmission no later than the last one's, which change nothing
	Refused    uint32 // about nothing that is out
	Reductions uint32 // times that the bound was set, or lowered
	Expired    uint32 // times that it ended
	Lowered    uint32 // segments that came whose window was lowered

	// Of the last one that counts:
	Cause          packet.Cause
	Supply, Demand unit.Rate  // 0: it told none
	Switch         uint32     // 0: it named none
	Age            unit.Time  // since it came; 0: none has
	Bound          unit.Bytes // of what is in flight, payload, as it was set; 0: none is in force
}

// The words for what is followed, as bpf/bound.h has them, and its bounds of a bound.
const (
	followLoss   = 0
	followSupply = 1

	mostHold = 100 * unit.Millisecond
)

// rawNacked is struct nacked of bpf/bound.h.
type rawNacked struct {
	At, Reduced, Sent, Supply, Demand                           uint64
	Seq, Bound, Trip, Node, Cause                               uint32
	Taken, Repeated, Refused, Reductions, Expired, Lowered, Pad uint32
}

// hold is how long a bound holds.
func (r *rawNacked) hold() int64 { return min(int64(r.Trip)*2000, int64(mostHold/unit.Nanosecond)) }

// decode reads a struct nacked; now is the kernel's CLOCK_MONOTONIC, in ns.
func (n *Nacks) decode(b []byte, now int64) error {
	var r rawNacked
	if k, err := binary.Decode(b, ne, &r); err != nil || k != len(b) {
		return fmt.Errorf("agent: %d bytes about NACKs, not %d", len(b), binary.Size(&r))
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
	case age < r.hold():
		n.Bound = unit.Bytes(r.Bound)
	default:
		n.Expired++
	}
	return nil
}
