package ndp

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Config are the parameters of a flow.
type Config struct {
	Window   int       // packets that are sent without a PULL; 0: a BDP
	PullRate unit.Rate // rate of the frames that PULLs ask for, of all flows to a host; 0: that of the receiver's link
	Priority bool      // the flow's PULLs go before those of flows without it
	RTOMin   unit.Time // minimum retransmission timeout
	NIC      transport.NICDelays
}

// defaults returns the parameters of the paper.
func defaults() Config { return scheme.Defaults[Config]() }

// Params binds the options of ndp to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Packets(&c.Window, "initial_window", "30 packets",
		"packets that a flow sends at line rate before it waits for PULLs; 0 packets: line rate × base RTT",
		"NDP §6.1: 30").Min("0 packets").Max("1000000 packets")
	p.Rate(&c.PullRate, "pull_rate", "0bps",
		"rate of frames that a host's PULLs request; 0bps: the rate of the receiver's link", "NDP §3.2: the rate of its link")
	p.Bool(&c.Priority, "priority", "false", "send PULLs of the flow before those of the host's flows without priority",
		"NDP §3.2.3")
	p.Time(&c.RTOMin, "rto_min", "0s", "minimum retransmission timeout, of a packet without an answer and of a PULL; "+
		"it doubles up to 64 times; 0s: derived from the path: a header is sent as a probe after 320us or the measured "+
		"round-trip time, the packet is sent again when the answer proves the loss or after a round-trip time with full "+
		"buffers, and a packet without a PULL after 5ms",
		"htsim ndp.h: DEFAULT_RTO_MIN, 5 ms; RFC 8985 §7: probe").Min("0s").Max("60s")
	p.AddRule("rto_min", func() error {
		if c.RTOMin > 0 && c.RTOMin < unit.Microsecond {
			return fmt.Errorf("%v; allowed: 0s, or 1us to 60s", c.RTOMin)
		}
		return nil
	})
	c.NIC.Params(p)
}

// Traits returns the timer.
func (c *Config) Traits() transport.Traits { return transport.Traits{Timer: c.describeTimer} }

// describeTimer returns the timeout of the file, or the default.
func (c *Config) describeTimer(p *cc.Path) transport.Timer {
	return transport.Timer{Param: "rto_min", Timeout: c.shortestRTO(), ReplyDelay: max(c.NIC.Ack, c.NIC.Nack),
		Probes: c.RTOMin == 0, Unproven: p.Reorders}
}

// shortestRTO returns the shortest timeout of a flow that does not probe, and the shortest wait for a PULL.
func (c *Config) shortestRTO() unit.Time {
	if c.RTOMin == 0 {
		return pullWait
	}
	return c.RTOMin
}

// headerBytes is the transport's own header on the wire (packet.Emit).
const headerBytes = 16

// maxOutstanding limits the distance between unacknowledged packets, and between the expected value of a counter and
// the one received. It bounds memory, far above any window.
const maxOutstanding = 1 << 20

// Scheme returns the transport ndp.
func Scheme() transport.Scheme {
	return transport.Define(transport.Scheme{
		Scheme: scheme.Scheme{Name: "ndp", Doc: "receiver-driven transport: a first window at line rate, then one " +
			"packet per PULL; for switches with the program ndp", Source: "NDP (SIGCOMM 2017) §3.2",
			Warnings: []scheme.WarningKind{warnUntrimmed, warnRTONIC}},
		Headers: headerBytes, Proto: packet.ProtoOwn, Gauged: true,
	}, New)
}

// New makes the two endpoints of a flow. Receivers of one host must get the same f.Host, through which they share the
// pace of their PULLs; without a host a flow is paced alone. It returns an error for values out of range, and for a
// path without the rates that the configuration needs.
func New(f transport.Flow, c Config) (*Sender, *Receiver, error) {
	if c.PullRate == 0 {
		c.PullRate = f.Path.ReceiverRate
	}
	e := newEnds(&f, false)
	frame := f.Framing.FrameBytes(e.headers, f.Payload, true)
	if c.Window == 0 && frame > 0 {
		bdp := int64(f.Path.NICRate.BytesIn(f.Path.BaseRTT))
		c.Window = int(min((bdp+int64(frame)-1)/int64(frame), maxOutstanding))
	}
	switch {
	case f.Payload < 1 || f.Payload > 65000:
		return nil, nil, fmt.Errorf("transport ndp: payload %d; allowed: 1 … 65000 bytes", f.Payload)
	case f.Size < 0:
		return nil, nil, fmt.Errorf("transport ndp: a size of %d bytes", f.Size)
	case c.Window == 0:
		return nil, nil, fmt.Errorf("transport ndp: initial_window: 0 packets needs the path's line rate and base RTT")
	case c.PullRate == 0:
		return nil, nil, fmt.Errorf("transport ndp: pull_rate must be above 0; without one the receiver's link needs a " +
			"rate in bit/s")
	}
	host := f.Host
	if host == nil {
		host = &cc.Host{}
	}
	pulls := host.GetShared("ndp pulls", func() any { return &pulls{} }).(*pulls)
	gap := unit.TransmitTime(unit.Bytes(frame), c.PullRate)
	return newSender(f, c, e), newReceiver(f, c, pulls, gap), nil
}

// ends is the common part of the two ends of a flow: headers and numbering. Packets are numbered from 0, and all but
// the last have a full payload. On the wire a packet has the number of its first byte.
type ends struct {
	framing          packet.Framing
	hash             uint32
	headers          int32 // Ethernet to transport
	srcPort, dstPort uint16
	version, tos     uint8
	payload          int64
	size             int64 // bytes of the flow; MaxInt64: no end
	packets          int64 // packets of the flow
}

// newEnds returns the common part for one end of flow f. back: the packets of this end go from the flow's destination
// to its source.
func newEnds(f *transport.Flow, back bool) ends {
	e := ends{framing: f.Framing, headers: packet.EthernetHeader + packet.IPHeader(f.Version) + headerBytes,
		srcPort: f.SrcPort, dstPort: f.DstPort, version: f.Version, tos: f.TOS &^ packet.ECN,
		payload: int64(f.Payload), size: math.MaxInt64, packets: math.MaxInt64 / max(int64(f.Payload), 1)}
	src, dst := f.Src, f.Dst
	if back {
		src, dst = dst, src
		e.srcPort, e.dstPort = e.dstPort, e.srcPort
	}
	e.hash = packet.FlowHash(src, dst, e.srcPort, e.dstPort, packet.ProtoOwn)
	if f.Size > 0 && f.Payload > 0 {
		e.size = int64(f.Size)
		e.packets = (e.size-1)/e.payload + 1
	}
	return e
}

// packetSeq returns the number of the first byte of packet n, or of the byte after the last packet. Without an end of
// the flow it is n payloads.
func (e *ends) packetSeq(n int64) int64 {
	if n >= e.packets {
		return e.size
	}
	return n * e.payload
}

// payloadOf returns the payload of packet n.
func (e *ends) payloadOf(n int64) int64 { return e.packetSeq(n+1) - e.packetSeq(n) }

// unwrapNumber returns the number that is nearest to near for number x of the wire, which is its lower 40 bits.
func unwrapNumber(x, near int64) int64 { return near + (x-near)<<24>>24 }

// findPacket returns the packet that begins at byte seq, near packet near, or the number of packets for the byte after
// the last; −1: there is no such packet.
func (e *ends) findPacket(seq, near int64) int64 {
	switch seq = unwrapNumber(seq, e.packetSeq(near)); {
	case seq < 0 || seq > e.size:
		return -1
	case seq == e.size:
		return e.packets
	case seq%e.payload != 0:
		return -1
	}
	return seq / e.payload
}

// isFromPeer reports whether p has the protocol and the ports of a packet from the flow's other end. It compares no
// addresses: the host has assigned p to its flow.
func (e *ends) isFromPeer(p *packet.Packet) bool {
	return p.SrcPort == e.dstPort && p.DstPort == e.srcPort && p.Proto == packet.ProtoOwn
}

// fillHeaders writes the headers of p, which has no extensions, except addresses and flow. seq and ack are byte
// numbers, payload is in bytes, and Size follows from it.
func (e *ends) fillHeaders(p *packet.Packet, kind packet.Kind, seq, ack, payload int64, flags uint8) {
	p.Kind, p.Seq, p.Ack, p.Payload, p.TCP.Flags = kind, seq, ack, int32(payload), flags
	p.Size = e.framing.FrameBytes(e.headers, p.Payload, kind == packet.Data)
	p.Hash, p.SrcPort, p.DstPort = e.hash, e.srcPort, e.dstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoOwn, e.version, e.tos, 64
}
