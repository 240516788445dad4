package agent

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weir/core/unit"
)

// maxHops is the number of hops that a trace has room for.
const maxHops = 5

// Connection is the state of a connection that the agent handles.
type Connection struct {
	Local, Remote netip.AddrPort
	Controller    string    // the kernel's current congestion control
	RTT           unit.Time // smoothed by the kernel
	Window        uint32    // of the kernel, in segments
	Pacing        unit.Rate

	SenderFeedback   Feedback // as the sender: feedback from the other end
	ReceiverFeedback Feedback // as the receiver: feedback to the other end

	Following     bool   // the connection obeys SenderFeedback
	FeedbackCount uint32 // feedback options received
	Traced        uint32 // frames sent with room for records
	Measured      uint32 // measurements from received records
	Missed        bool   // the path has more hops than a trace has room for
	Refused       uint32 // options and records with numbers outside the connection's windows
	Fallbacks     uint32 // changes to CUBIC for lack of telemetry

	Traces bool   // HPCC++ is followed, and the fields from SenderFeedback on are valid
	Nacks  *Nacks // effects of switches' NACKs; nil if no NACK has arrived
}

// Feedback is the result of HPCC++ for one direction of a connection.
type Feedback struct {
	Window     unit.Bytes // W, in bytes of frames; 0: unknown
	Load       float64    // U
	Bottleneck int        // hop with the largest load, from 1 at the sender; 0: unknown
	Hops       int        // number of hops that wrote records
	Node       uint32     // number of the bottleneck; known to the receiver
	Age        unit.Time  // since the feedback or the records arrived
	T          unit.Time  // interval over which HPCC++ measures; 0: unknown
}

// Structures of the programs' maps, as in bpf/law.h and bpf/agent.c.
type (
	rawHop struct {
		Time                    int64
		Bytes                   uint64
		Queue, Node, Port, Rate uint32
	}
	rawLaw struct {
		Last                                         [maxHops]rawHop
		ByteIn                                       [maxHops]uint64
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
	loadUnit         = 1 << 24 // unit of loads that a receiver computes
	feedbackLoadUnit = 4096    // unit of loads in the feedback option
)

// decode parses a struct connection of bpf/agent.c into c's fields from SenderFeedback to Fallbacks. now is the
// kernel's CLOCK_MONOTONIC in ns. It fails if b has another length.
func (c *Connection) decode(b []byte, now int64) error {
	var r rawConnection
	if n, err := binary.Decode(b, binary.LittleEndian, &r); err != nil || n != len(b) {
		return fmt.Errorf("agent: the state of a connection has %d bytes; expected %d", len(b), binary.Size(&r))
	}
	// The kernel may have stored newer telemetry after now was read, so ages are at least 0.
	age := func(at uint64) unit.Time { return max(unit.Time(now-int64(at)), 0) * unit.Nanosecond }
	c.ReceiverFeedback, c.SenderFeedback = Feedback{}, Feedback{}
	if l := &r.Law; l.Told > 0 {
		c.ReceiverFeedback = Feedback{Window: unit.Bytes(l.Told), Load: float64(l.U) / loadUnit, Hops: int(l.N),
			Age: age(r.Recorded),
			T:   unit.Time(l.T) * unit.Nanosecond}
		if at := l.Bottleneck; at < min(l.N, maxHops) {
			c.ReceiverFeedback.Bottleneck, c.ReceiverFeedback.Node = int(at)+1, l.Last[at].Node
		}
	}
	if r.Window > 0 {
		c.SenderFeedback = Feedback{Window: unit.Bytes(r.Window), Load: float64(r.Load) / feedbackLoadUnit, Hops: int(r.Hops),
			Age: age(r.ToldAt), T: unit.Time(r.Time) * unit.Microsecond}
		if r.Hops > 0 {
			c.SenderFeedback.Bottleneck = int(r.Bottleneck) + 1
		}
	}
	c.Measured, c.Missed = r.Law.Measured, r.Law.Missed != 0
	c.FeedbackCount, c.Refused, c.Traced = r.Tells, r.Refused, r.Traced
	c.Fallbacks, c.Following = r.Fallbacks, r.Following != 0
	return nil
}
