package trace

import (
	"weir/core/packet"
	"weir/core/unit"
)

// EventKind is the type of a packet's event.
type EventKind uint8

// Kinds of events. A host's NIC takes packets from its endpoints when it can send, so only switches have Enqueue and
// Drop.
const (
	Enqueue  EventKind = iota // it entered a queue of the port
	Transmit                  // the port begins to send it
	Drop                      // the switch dropped it, for a Reason
	Lost                      // the link will lose it, for a Reason; the time is the start of its transmission
	Arrive                    // its last bit has reached the other end of the port's link
	Kinds                     // number of kinds
)

var kindNames = [Kinds]string{"enqueue", "transmit", "drop", "lost", "arrive"}

// String returns the kind as trace files have it, such as "enqueue"; "unknown" for Kinds and above.
func (k EventKind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return "unknown"
}

// KindNames lists the names of all kinds. The slice must not be changed.
func KindNames() []string { return kindNames[:] }

// ParseKind returns the kind of a name. It returns false for an unknown name.
func ParseKind(name string) (EventKind, bool) {
	for k, n := range kindNames {
		if n == name {
			return EventKind(k), true
		}
	}
	return 0, false
}

// None stands for a missing port, flow or queue of an event.
const None = -1

// Event is what a switch or a link reports about an event, without the packet.
type Event struct {
	At           unit.Time
	Kind         EventKind
	Node         int32  // where it happened: the receiving node for Arrive, else the port's node
	Port         int32  // 2·link + end, as in outcome.Result.Ports, or None
	Reason       string // of Drop and Lost, one word
	QueuePackets int32  // packets waiting at the port after it, or None
	QueueBytes   unit.Bytes
}

// An Observer receives events as they happen, in order for each node. It borrows the packet.
type Observer interface {
	Observe(e Event, p *packet.Packet)
}

// Record is one event with all values that files store about it.
type Record struct {
	At               unit.Time
	Kind             EventKind
	Node, Port       string      // Port is "" without a port
	Flow             int64       // number in the run, or None
	Packet           packet.Kind // data, acknowledgement, …
	Proto            uint8       // of IP; 0: no IP packet
	Src, Dst         string      // hosts by name, or addresses; "" without hosts
	SrcPort, DstPort uint16
	Seq, Ack         int64 // TCP: as in the header, 32 bits; UDP: number of the datagram
	Size             int64 // bytes as queues and links count them, by the run's framing
	Payload          int64 // bytes
	TOS              uint8
	TCPFlags         uint8
	QueuePackets     int64 // packets waiting at the port after it, or None
	QueueBytes       int64
	Reason           string

	// Frame is the beginning of the packet's wire form, and FrameBytes the length of the whole. They are nil and 0 if the
	// collector does not record frames. Frame is valid until the sink returns.
	Frame      []byte
	FrameBytes int
}

// A Sink receives records in their order.
type Sink interface {
	Write(r *Record) error
}

var packetNames = [...]string{packet.Data: "data", packet.Ack: "ack", packet.Nack: "nack", packet.Notice: "notice",
	packet.Pause: "pause", packet.Resume: "resume", packet.Probe: "probe"}

// PacketName returns the name of a kind of packet; "unknown" for any other value.
func PacketName(k packet.Kind) string {
	if int(k) < len(packetNames) {
		return packetNames[k]
	}
	return "unknown"
}

// ParsePacketName returns the kind of packet of a name. It returns false for an unknown name.
func ParsePacketName(name string) (packet.Kind, bool) {
	for k, n := range packetNames {
		if n == name {
			return packet.Kind(k), true
		}
	}
	return 0, false
}
