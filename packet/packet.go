package packet

import "weir/unit"

// FlowID names a flow of one run; the driver numbers them from 0.
type FlowID uint32

// PortID numbers the ports of one node from 0.
type PortID uint16

// NoPort is the PortID of no port: a packet that the switch itself made has it
// as its ingress port.
const NoPort PortID = 0xffff

// Addr names a network address by its index in the run's Book, so that tables
// and caches are flat slices. 0 is no address or an unknown one.
type Addr uint32

// Kind is what a packet is to transports and to the port's link layer.
type Kind uint8

// Kinds of packets.
const (
	Data   Kind = iota // carries payload
	Ack                // acknowledges
	Nack               // negative acknowledgement, of a receiver or of the network
	Notice             // other feedback made by the network (CNP, …)
	Pause              // PFC: stop the class in Meta.Class (IEEE 802.1Qbb); never seen by programs
	Resume             // PFC: go on
	Probe              // telemetry probe
)

// Protocols (IANA), as in Packet.Proto.
const (
	ProtoTCP  uint8 = 6
	ProtoUDP  uint8 = 17
	ProtoRDMA uint8 = 0xfc // the HPCC simulator's number for ACK and NACK (facts A5); from RFC 3692's neighbourhood
)

// Flags of a packet that are not part of any header.
const (
	Trimmed  uint8 = 1 << iota // payload was cut off by a switch
	Internal                   // made by a switch, not by a host
)

// Metadata is what one switch knows about a packet while it holds it: P4's
// standard metadata. It is reset when a switch receives the packet.
type Metadata struct {
	In    PortID // where it came in; NoPort: made here
	Out   PortID // egress port chosen at ingress; NoPort: none yet
	Queue uint8  // queue of the egress port
	Class uint8  // priority class: 0 is the first in strict priority; also PFC's class
	Flags uint8  // Trimmed, Internal
	Mark  uint8  // colour of a meter, or a program's mark
	User  uint32 // user-defined metadata of the switch's programs (P4-ABC §4.1)
}

// Packet is one frame. Its first 64 bytes are all that a hop touches; what only
// end hosts or single schemes need lies behind. A packet has one owner at a
// time; programs copy what they keep.
//
// Data is the wire form from the Ethernet header on (without FCS), or nil in the
// simulator's fast mode, where the fields are the packet. Extensions are kept in
// wire form in either case.
type Packet struct {
	// hot line, 64 bytes
	Next     *Packet // link of the list that the packet is in: a queue, a ring, the pool
	Seq      int64   // first payload byte of the flow (TCP: relative; UDP: number of the datagram)
	Flow     FlowID
	Src, Dst Addr
	Hash     uint32 // of the flow's 5-tuple, computed once at the sender or parser
	Size     int32  // bytes that links and queues count, by the run's Framing
	Payload  int32  // bytes of transport payload
	SrcPort  uint16
	DstPort  uint16
	Meta     Metadata
	Kind     Kind
	TOS      uint8 // DSCP in the upper six bits, ECN in the lower two (RFC 2474, 3168)
	HopLimit uint8 // TTL or hop limit
	Proto    uint8
	Version  uint8 // of IP: 4 or 6
	extLen   uint8
	_        uint16

	// second line
	Sent     unit.Time // when the sender's NIC took it
	Enqueued unit.Time // when it entered the queue that it is in, or was last in
	Ack      int64     // cumulative acknowledgement: next byte expected
	Data     []byte
	ext      [80]byte // so that a packet is three cache lines
}

// ECN code points (RFC 3168 §5), the lower two bits of TOS.
const (
	NotECT uint8 = 0
	ECT1   uint8 = 1
	ECT0   uint8 = 2
	CE     uint8 = 3
	ECN    uint8 = 3 // mask
)

// TakeHop decrements the hop limit as a router does before it forwards (RFC 1812
// §5.3.1, RFC 8200 §3). It returns false when nothing is left: the packet must be
// dropped.
func (p *Packet) TakeHop() bool {
	if p.HopLimit > 0 {
		p.HopLimit--
	}
	return p.HopLimit > 0
}

// A Pool gives and takes packets. It is not safe for concurrent use: each worker
// of a driver has its own. Packets come zeroed.
type Pool struct {
	free *Packet
	live int
	made int
}

// slabPackets is how many packets are allocated at once.
const slabPackets = 1024

// Get returns a zeroed packet, which the caller owns.
func (l *Pool) Get() *Packet {
	if l.free == nil {
		l.grow()
	}
	p := l.free
	l.free = p.Next
	l.live++
	*p = Packet{}
	return p
}

// Put takes p back.
func (l *Pool) Put(p *Packet) {
	p.Next = l.free
	l.free = p
	l.live--
}

// Live returns how many packets are out.
func (l *Pool) Live() int { return l.live }

// Made returns how many packets were ever allocated.
func (l *Pool) Made() int { return l.made }

func (l *Pool) grow() {
	slab := make([]Packet, slabPackets)
	for i := range slab {
		slab[i].Next = l.free
		l.free = &slab[i]
	}
	l.made += slabPackets
}
