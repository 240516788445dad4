package agent

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weir/core/unit"
)

// mostHops is how many hops a trace has room for.
const mostHops = 5

// Connection is what an agent knows of one.
type Connection struct {
	Local, Remote netip.AddrPort
	Controller    string    // the kernel's congestion control that it has now
	RTT           unit.Time // as the kernel has smoothed it
	Window        uint32    // the kernel's, in segments
	Pacing        unit.Rate

	Told Told // as the sender: what the other end has told
	Tell Told // as the receiver: what this end tells

	Following bool   // what was told is obeyed
	Tells     uint32 // how often something was told
	Traced    uint32 // frames that left with room for records
	Measured  uint32 // measurements by records that came
	Missed    bool   // the path has more hops than there is room for
	Refused   uint32 // options and records whose numbers are of no window of the connection
	Fallbacks uint32 // how often it went to CUBIC for want of telemetry

	Traces bool   // HPCC++ is followed: the fields above from Told on are known
	Nacks  *Nacks // what NACKs of switches did; nil: none came
}

// Told is the outcome of HPCC++ for one direction of a connection.
type Told struct {
	Window     unit.Bytes // W, in bytes of frames; 0: nothing is known
	Load       float64    // U
	Bottleneck int        // the hop with the largest load, from 1 at the sender; 0: not known
	Hops       int        // how many wrote records
	Node       uint32     // the bottleneck's; known to the receiver
	Age        unit.Time  // since it was told, or since records came
	T          unit.Time  // over which HPCC++ measures; 0: not known
}

// The structures that programs keep, as bpf/law.h and bpf/agent.c have them.
type (
	rawHop struct {
		Time                    int64
		Bytes                   uint64
		Queue, Node, Port, Rate uint32
	}
	rawLaw struct {
		Last                                         [mostHops]rawHop
		ByteIn                                       [mostHops]uint64
		At, LastUpdate, Queueing, T, RTT             uint64
		Slowest, Most                                uint64
		W, Wc, U                                     uint64
		N, Missed, Stage, Bottleneck, Told, Measured uint32
	}
	rawConnection struct {
		Law                                                rawLaw
		Recorded, ToldAt                                   uint64
		Window                                             uint32
		Load                                               uint16
		Bottleneck, Hops                                   uint8
		Tells, Refused, Bare, Traced, Fallbacks, Following uint32
		Time, Pad                                          uint32
	}
)

const (
	one     = 1 << 24 // of loads that a receiver computes
	toldOne = 4096    // of loads that a sender is told
)

// decode reads a struct connection; now is the kernel's CLOCK_MONOTONIC, in ns.
func (c *Connection) decode(b []byte, now int64) error {
	var r rawConnection
	if n, err := binary.Decode(b, binary.LittleEndian, &r); err != nil || n != len(b) {
		return fmt.Errorf("agent: %d bytes about a connection, not %d", len(b), binary.Size(&r))
	}
	// The kernel may have stored newer telemetry after now was read.
	age := func(at uint64) unit.Time { return max(unit.Time(now-int64(at)), 0) * unit.Nanosecond }
	c.Tell, c.Told = Told{}, Told{}
	if l := &r.Law; l.Told > 0 {
		c.Tell = Told{Window: unit.Bytes(l.Told), Load: float64(l.U) / one, Hops: int(l.N), Age: age(r.Recorded),
			T: unit.Time(l.T) * unit.Nanosecond}
		if at := l.Bottleneck; at < min(l.N, mostHops) {
			c.Tell.Bottleneck, c.Tell.Node = int(at)+1, l.Last[at].Node
		}
	}
	if r.Window > 0 {
		c.Told = Told{Window: unit.Bytes(r.Window), Load: float64(r.Load) / toldOne, Hops: int(r.Hops), Age: age(r.ToldAt),
			T: unit.Time(r.Time) * unit.Microsecond}
		if r.Hops > 0 {
			c.Told.Bottleneck = int(r.Bottleneck) + 1
		}
	}
	c.Measured, c.Missed = r.Law.Measured, r.Law.Missed != 0
	c.Tells, c.Refused, c.Traced = r.Tells, r.Refused, r.Traced
	c.Fallbacks, c.Following = r.Fallbacks, r.Following != 0
	return nil
}
