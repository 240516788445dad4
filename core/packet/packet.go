package packet

import "weir/core/unit"

// FlowID identifies a flow of one run; the driver numbers them from 0.
type FlowID uint32

// NoFlow is the FlowID of a packet without a known flow of the run, such as frames that real hosts send.
const NoFlow FlowID = 1<<32 - 1

// PortID numbers the ports of one node from 0.
type PortID uint16

// NoPort means no port. It is the ingress port of packets that the switch itself made.
const NoPort PortID = 0xffff

// Addr identifies a network address by its index in the run's Book, so that tables and caches are flat slices. 0 is an
// unknown address or no address.
type Addr uint32

// Kind is the role of a packet for transports and for the port's link layer.
type Kind uint8

// Kinds of packets.
const (
	Data   Kind = iota // carries payload
	Ack                // acknowledges
	Nack               // negative acknowledgement, of a receiver or of the network
	Notice             // other feedback made by the network (CNP, …)
	Pause              // PFC: stop the class in Meta.Class (IEEE 802.1Qbb); never seen by programs
	Resume             // PFC: continue
	Probe              // telemetry probe
	Kinds              // number of kinds
)

// Protocols (IANA), as in Packet.Proto.
const (
	ProtoICMP   uint8 = 1
	ProtoTCP    uint8 = 6
	ProtoUDP    uint8 = 17
	ProtoICMPv6 uint8 = 58
	// ProtoRDMA is RoCEv2, which is UDP to port 4791 on the wire; the number is the HPCC simulator's for ACKs.
	ProtoRDMA uint8 = 0xfc
	// ProtoOwn is the protocol of transports and messages without a standard header, which get Weir's of 16 bytes (Emit).
	// RFC 3692 leaves the number to experiments.
	ProtoOwn uint8 = 254
)

// Flags of a packet that are not part of any header.
const (
	Trimmed  uint8 = 1 << iota // payload was cut off by a switch
	Internal                   // made by a switch, not by a host
	ToUser                     // Src is not the sender but the user who receives it, as a bridge's parser may set it
)

// Metadata is the state of one switch about a packet while it holds it: P4's standard metadata. It is reset when a
// switch receives the packet.
type Metadata struct {
	In    PortID // ingress port; NoPort: made here
	Out   PortID // egress port chosen at ingress; NoPort: not chosen yet
	Queue uint8  // queue of the egress port
	Class uint8  // priority class: 0 is the first in strict priority; also PFC's class
	Flags uint8  // Trimmed, Internal, ToUser
	Mark  uint8  // colour of a meter, or a program's mark
	User  uint32 // user-defined metadata of the switch's programs (P4-ABC §4.1)
}

// Packet is one frame. A hop touches only its first two lines of 64 bytes, with telemetry for up to five switches.
// Fields for end hosts or single schemes are behind them. A packet has one owner at a time; programs copy what they
// keep.
//
// Data is the wire form from the Ethernet header on (without FCS), or nil in the simulator's fast mode, where the
// fields are the packet. Extensions are stored in wire form in both cases.
type Packet struct {
	// hot line, 64 bytes
	Next     *Packet // link of the list that the packet is in: a queue, a ring, the pool
	Data     []byte
	Dst      Addr
	Hash     uint32 // of the flow's 5-tuple, computed once at the sender or parser
	Size     int32  // bytes that links and queues count, by the run's Framing
	Meta     Metadata
	Kind     Kind
	TOS      uint8 // DSCP in the upper six bits, ECN in the lower two (RFC 2474, 3168)
	HopLimit uint8 // TTL or hop limit
	Proto    uint8
	Version  uint8 // of IP: 4 or 6
	extLen   uint8
	changing uint8 // bit k: there is an extension of kind 0x38 + k, which the switches may write to
	parsed   bool  // see IsParsed

	// second line, with HPCC's header and the beginning of longer extensions
	Enqueued    unit.Time  // when it entered its current or last queue
	Predecessor *Packet    // packet that entered the queue before it; stale once that has left
	ext         [192]uint8 // room for five full hops of telemetry

	stackRoom *[StackRoom]byte // the stack's bytes, if the extensions name a stack; reused by the packet's next stack

	_ [8]byte // aligns the fields after TCP's SACK blocks, which end hosts use, to one line

	TCP Segment
	// first payload byte of the flow (TCP: relative; UDP: number of the datagram; RDMA: number of the packet mod 2²⁴, and
	// Ack is the next expected); Pause: its time in quanta of 512 bits, 1 … 65534, or 0: until Resume
	Seq int64
	// cumulative acknowledgement: next byte expected; RDMA's data: number of its transmission, mod 128, 0 for the first
	Ack     int64
	Sent    unit.Time // when the sender's NIC took it, or a switch made it
	Flow    FlowID
	Src     Addr
	Payload int32 // bytes of transport payload
	SrcPort uint16
	DstPort uint16 // RDMA: number of the queue pair
	// RDMA: length of the message for its first packet; number of complete messages for an acknowledgement
	Message uint32
	Resent  ResendCause // why this copy of a data packet was sent; not on the wire
	_       [3]byte     // a packet has six lines
}

// Segment has the fields of a TCP header without ports, sequence and acknowledgement (RFC 9293 §3.1), and the options
// that end hosts use.
type Segment struct {
	SACK          [4]SACKBlock // with HasNotice: the bytes of the notice
	TSVal, TSEcho uint32       // RFC 7323 §3, with HasTimestamps
	Window        uint16       // as in the header: not scaled
	MSS           uint16       // RFC 9293 §3.7.1, of a SYN; 0: absent
	Flags         uint8        // FIN … CWR
	Present       uint8        // options that are present: HasTimestamps …
	Scale         uint8        // RFC 7323 §2, with HasScale
	Blocks        uint8        // number of blocks in SACK, 0 … 4
}

// SACKBlock is one block of RFC 2018 §3: sequence numbers of its first byte and
// of the byte behind its last.
type SACKBlock struct{ Left, Right uint32 }

// Options of a Segment that are optional, as bits.
const (
	HasTimestamps uint8 = 1 << iota
	HasScale
	HasSACKPermitted
	HasNotice // a notice of the network, in an option for experiments
	HasAE     // not an option, but the flag of Accurate ECN (RFC 9768 §3.2.2), which is only read
)

// OptionBytes returns the length of the segment's options on the wire, with the padding that Linux uses: a multiple of
// 4, at most 40.
func (s *Segment) OptionBytes() int32 {
	var n int32
	if s.MSS > 0 {
		n += 4
	}
	switch s.Present & (HasTimestamps | HasSACKPermitted) {
	case HasTimestamps, HasTimestamps | HasSACKPermitted:
		n += 12
	case HasSACKPermitted:
		n += 4
	}
	if s.Present&HasScale != 0 {
		n += 4
	}
	if s.Blocks > 0 {
		n += 4 + 8*int32(s.Blocks)
	}
	if s.Present&HasNotice != 0 {
		n += s.noticeLen()
	}
	return min(n, 40)
}

// tcpOptions returns the segment's options in the codec's form.
func (s *Segment) tcpOptions() TCPOptions {
	o := TCPOptions{MSS: s.MSS, WindowScale: -1, SACKPermitted: s.Present&HasSACKPermitted != 0,
		Timestamps: s.Present&HasTimestamps != 0, TSVal: s.TSVal, TSEcr: s.TSEcho, SACKBlocks: int(s.Blocks)}
	if s.Present&HasScale != 0 {
		o.WindowScale = int8(s.Scale)
	}
	for i := range s.Blocks {
		o.SACK[i] = [2]uint32{s.SACK[i].Left, s.SACK[i].Right}
	}
	if s.Present&HasNotice != 0 {
		var room [noticeRoom + 4]byte
		b := s.noticeData(&room)
		x := be.AppendUint16(append(o.unknown[:0], optionExperiment, uint8(4+len(b))), optionExID)
		o.unknownLen = uint8(len(append(x, b...)))
	}
	return o
}

// setTCPOptions sets the segment's options from the codec's form, without unknown ones. Options that o lacks are
// removed.
func (s *Segment) setTCPOptions(o *TCPOptions) {
	s.MSS, s.TSVal, s.TSEcho, s.Present, s.Scale, s.Blocks = o.MSS, o.TSVal, o.TSEcr, 0, 0, uint8(o.SACKBlocks)
	if o.Timestamps {
		s.Present |= HasTimestamps
	}
	if o.SACKPermitted {
		s.Present |= HasSACKPermitted
	}
	if o.WindowScale >= 0 {
		s.Present |= HasScale
		s.Scale = uint8(o.WindowScale)
	}
	for i := range o.SACKBlocks {
		s.SACK[i] = SACKBlock{o.SACK[i][0], o.SACK[i][1]}
	}
}

// IsParsed reports whether the fields agree with the frame that p was last parsed from. Switches on its way have
// changed both together, so p need not be parsed again.
func (p *Packet) IsParsed() bool { return p.parsed }

// TouchHeader reads the fields that a switch will read of p, so that cache misses of several packets overlap. Its
// result has no meaning.
func (p *Packet) TouchHeader() int32 { return p.Size + int32(p.ext[0]) }

// TouchEnd reads the fields that an end host will read of p.
func (p *Packet) TouchEnd() int32 { return p.Size + int32(p.ext[0]) + int32(p.Flow) }

// ECN code points (RFC 3168 §5), the lower two bits of TOS.
const (
	NotECT uint8 = 0
	ECT1   uint8 = 1
	ECT0   uint8 = 2
	CE     uint8 = 3
	ECN    uint8 = 3 // mask
)

// DecrementHopLimit decrements the hop limit as a router does before it forwards (RFC 1812 §5.3.1, RFC 8200 §3). It
// returns false if the limit reaches 0, or is 0 already: the packet must be dropped.
func (p *Packet) DecrementHopLimit() bool {
	if p.HopLimit > 0 {
		p.HopLimit--
	}
	return p.HopLimit > 0
}

// A Pool allocates packets and reuses them. It is not safe for concurrent use: each worker of a driver has its own.
// New packets are zeroed.
type Pool struct {
	free *Packet
	live int
	made int
}

// slabPackets is the number of packets that are allocated at once.
const slabPackets = 1024

// Get returns a zeroed packet, which the caller owns.
func (l *Pool) Get() *Packet {
	if l.free == nil {
		l.addSlab()
	}
	p := l.free
	l.free = p.Next
	l.live++
	// SACK blocks and bytes of extensions are unused where their counts are 0. So the third and fourth line are not
	// touched.
	p.Next, p.Seq, p.Flow, p.Src, p.Dst, p.Hash = nil, 0, 0, 0, 0, 0
	p.Size, p.Payload, p.SrcPort, p.DstPort, p.Message, p.Resent, p.Meta = 0, 0, 0, 0, 0, 0, Metadata{}
	p.Kind, p.TOS, p.HopLimit, p.Proto, p.Version, p.extLen, p.changing, p.parsed = 0, 0, 0, 0, 0, 0, 0, false
	p.Sent, p.Enqueued, p.Predecessor, p.Ack, p.Data = 0, 0, nil, 0, nil
	t := &p.TCP
	t.TSVal, t.TSEcho, t.Window, t.MSS, t.Flags, t.Present, t.Scale, t.Blocks = 0, 0, 0, 0, 0, 0, 0, 0
	return p
}

// GetFrame returns a zeroed packet with an empty Data that has a capacity of at least room bytes. It reuses the Data
// of a returned packet if that is large enough. So packets of a pool must not share their Data.
func (l *Pool) GetFrame(room int) *Packet {
	if l.free == nil {
		l.addSlab()
	}
	data := l.free.Data
	p := l.Get()
	if cap(data) < room {
		data = make([]byte, 0, room)
	}
	p.Data = data[:0]
	return p
}

// Put returns p to the pool. The caller must not use p afterwards.
func (l *Pool) Put(p *Packet) {
	p.Next = l.free
	l.free = p
	l.live--
}

// FreeCount returns the number of packets that the pool holds.
func (l *Pool) FreeCount() int { return l.made - l.live }

// MoveTo moves n of the packets that the pool holds to the pool other; it must hold that many (FreeCount). Packets in
// use may be returned to either pool.
func (l *Pool) MoveTo(n int, other *Pool) {
	for range n {
		p := l.free
		l.free = p.Next
		p.Next, other.free = other.free, p
	}
	l.made -= n
	other.made += n
}

// LiveCount returns the number of packets in use.
func (l *Pool) LiveCount() int { return l.live }

// MadeCount returns the number of packets ever allocated.
func (l *Pool) MadeCount() int { return l.made }

// addSlab allocates slabPackets packets and adds them to the pool.
func (l *Pool) addSlab() {
	slab := make([]Packet, slabPackets)
	for i := range slab {
		slab[i].Next = l.free
		l.free = &slab[i]
	}
	l.made += slabPackets
}
