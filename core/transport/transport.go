package transport

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// An Endpoint is one half of a flow, at the sending or at the receiving host: a pure state machine. The host calls it
// with the time, and reads NextSend and NextTimer after every call, because any call may change them.
type Endpoint interface {
	// Receive handles a packet of the flow. It returns true if it has turned p into a packet to be sent: a receiver turns
	// data into its acknowledgement in place. Otherwise the host frees p.
	Receive(now unit.Time, p *packet.Packet) (reply bool)
	// NextSend returns the earliest time at which Emit may be called: a time in the past or now if the endpoint can send
	// at once; unit.Never if it must receive a packet first. Before its start a flow returns its start time.
	NextSend() unit.Time
	// Emit fills the zeroed p with the next packet of the flow. The host calls it only when NextSend is not later than
	// now, and has set Flow and the addresses. The endpoint sets Seq, Payload, Size, ports, protocol, TOS and Kind.
	Emit(now unit.Time, p *packet.Packet)
	// NextTimer returns when Advance is to be called; unit.Never without a timer.
	NextTimer() unit.Time
	// Advance runs the timers that have expired at now. The host calls it at NextTimer.
	Advance(now unit.Time)
	// Counters returns the endpoint's counters, which the host only reads.
	Counters() *Counters
}

// Gauge is the state that a sender with congestion control reports.
type Gauge struct {
	Window   unit.Bytes // congestion window, of payload
	InFlight unit.Bytes // payload that is sent and neither delivered nor lost
	Rate     unit.Rate  // pacing rate of payload; 0: not paced
	Derived  bool       // Rate follows from Window and the round-trip time: no decision of its own
	RTT      unit.Time  // smoothed round-trip time; 0: no sample
	Delivery unit.Rate  // latest rate of delivery of payload; 0: no sample
}

// Gauged is a sender that reports its state.
type Gauged interface{ Gauge() Gauge }

// A Retransmitter is a sender that has a retransmission timer.
type Retransmitter interface {
	Timeouts() int64 // number of expiries since the start
}

// Abandoner is a sender that gives its connection up when answers are missing for too long.
type Abandoner interface {
	Abandoned() bool // it has given up
}

// Classed is an Endpoint whose packets are not of priority class 0.
type Classed interface {
	// Class returns the priority class, 0 to 7, of all packets that the endpoint sends; 0 is the first in strict priority.
	Class() uint8
}

// Replier is an Endpoint with packets that may all be replies that were delayed, by a NIC or to acknowledge several
// packets at once. A host sends them before data, like replies that are made at once.
type Replier interface {
	// Replies reports whether they are. The result is constant.
	Replies() bool
}

// Rescheduling is an Endpoint that shares state with others of its host, so that a call into it may change when another
// one wants to send.
type Rescheduling interface {
	// Rescheduled returns such another flow. The flow's receiver is at this host. The host calls Rescheduled after every
	// call into the endpoint until ok is false, and reads NextSend and NextTimer of the flows returned.
	Rescheduled() (flow packet.FlowID, ok bool)
}

// Passive is the part of an Endpoint that never sends by itself and has no timer. Receivers that only reply or only
// count embed it.
type Passive struct{}

// NextSend returns unit.Never.
func (Passive) NextSend() unit.Time { return unit.Never }

// Emit is never called.
func (Passive) Emit(unit.Time, *packet.Packet) {}

// NextTimer returns unit.Never.
func (Passive) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (Passive) Advance(unit.Time) {}

// Counters is what an endpoint counts from its start on. Measures over a part of a run are differences of two copies.
type Counters struct {
	Sent
	Received

	// Delays counts one-way delays one by one, for percentiles; nil: not counted.
	Delays *unit.Histogram

	lastDelay unit.Time

	Last     unit.Time // when a receiver without answers got its latest datagram; 0: never, or another receiver
	Finished unit.Time // when the flow was complete as this endpoint sees it; unit.Never until then
	// Written is when the application's last write returned and all data was in the send buffer; unit.Never until then;
	// 0 without such a buffer.
	Written unit.Time
	Began   unit.Time // when the application began to write, if not at the flow's start; else 0
}

// Sent is what an endpoint counts of what it sends.
type Sent struct {
	SentPackets   int64
	SentBytes     unit.Bytes // payload
	Retransmitted int64      // packets sent again
	NacksTaken    int64      // of a sender: NACKs of the network that it has accepted
	NacksRefused  int64      // … and those of another flow, damaged, old, or not about a packet in flight
	Unacked       unit.Bytes // payload that was not acknowledged when the application's last write returned
}

// Since returns what was counted between first, a copy of before, and s. Unacked stays as it is in s.
func (s *Sent) Since(first *Sent) Sent {
	d := *s
	d.SentPackets -= first.SentPackets
	d.SentBytes -= first.SentBytes
	d.Retransmitted -= first.Retransmitted
	d.NacksTaken -= first.NacksTaken
	d.NacksRefused -= first.NacksRefused
	return d
}

// Received is what an endpoint counts of what it receives.
type Received struct {
	ReceivedPackets int64
	ReceivedBytes   unit.Bytes // payload that was new to the receiver
	// Spurious counts packets without new payload, by the cause of the copy that arrived.
	Spurious [packet.ResendCauses]int64

	// One-way delay of received data packets, from the first bit at the sender's
	// NIC to the last bit at the receiver.
	DelaySum unit.Time
	DelayMin unit.Time
	DelayMax unit.Time
	Jitter   float64 // RFC 3550 §6.4.1, smoothed |difference of transit times|, in ps
}

// Since returns what was counted between first, a copy of before, and r. Jitter and the minimum and maximum delay stay
// as they are in r.
func (r *Received) Since(first *Received) Received {
	d := *r
	d.ReceivedPackets -= first.ReceivedPackets
	d.ReceivedBytes -= first.ReceivedBytes
	for i := range d.Spurious {
		d.Spurious[i] -= first.Spurious[i]
	}
	d.DelaySum -= first.DelaySum
	return d
}

// CountDuplicate counts data packet p, a duplicate, by the cause of its copy.
func (r *Received) CountDuplicate(p *packet.Packet) { r.Spurious[p.Resent]++ }

// DuplicateCount returns the number of packets without new payload.
func (r *Received) DuplicateCount() (n int64) {
	for _, of := range r.Spurious {
		n += of
	}
	return n
}

// AddDelay counts the one-way delay of a received data packet: sum, minimum, maximum and interarrival jitter J += (|D|
// − J)/16 (RFC 3550 §6.4.1). DelayMin must be unit.Never before the first packet.
func (c *Counters) AddDelay(d unit.Time) {
	if c.lastDelay > 0 {
		difference := float64(d - c.lastDelay)
		if difference < 0 {
			difference = -difference
		}
		c.Jitter += (difference - c.Jitter) / 16
	}
	c.lastDelay = d
	c.DelaySum += d
	c.DelayMin = min(c.DelayMin, d)
	c.DelayMax = max(c.DelayMax, d)
	if c.Delays != nil {
		c.Delays.Add(d)
	}
}

// Since returns what was counted between first, a copy of before, and c. Times, jitter and the minimum and maximum
// delay stay as they are in c; Delays are not copied.
func (c *Counters) Since(first *Counters) Counters {
	d := *c
	d.Delays = nil
	d.Sent, d.Received = c.Sent.Since(&first.Sent), c.Received.Since(&first.Received)
	return d
}

// A Flow is the description from which a transport makes the two endpoints of a flow.
type Flow struct {
	ID       packet.FlowID
	Src, Dst packet.Addr
	SrcPort  uint16
	DstPort  uint16
	Version  uint8      // of IP
	TOS      uint8      // DSCP and ECN
	Start    unit.Time  // when the application starts
	Stop     unit.Time  // when it ends; unit.Never: with the run
	Size     unit.Bytes // payload to carry; 0: no end
	Payload  int32      // largest payload of a packet
	Framing  packet.Framing
	Script   *Script     // datagrams of a capture, in place of a size; nil: no capture
	Random   unit.Random // the flow's own random stream
	Seed     uint64      // of the run
	Path     cc.Path     // what is known of the path

	Telemetry *telemetry.Format // of the network; nil: no switch writes telemetry
	Host      *cc.Host          // state that the receivers at the flow's destination share; may be nil

	CC       *cc.Scheme    // the congestion controller, of transports that are Controlled
	CCConfig scheme.Config // of it
}

// EndpointPair has the two ends of a flow, or two nil values.
type EndpointPair struct{ Sender, Receiver Endpoint }

// Script is the list of datagrams that a flow of a capture sends, in order.
type Script []Datagram

// Datagram is one datagram of a flow of a capture.
type Datagram struct {
	Offset  unit.Time // time since the flow's start
	Payload int32
}

// Scheme is a transport that an experiment can name.
type Scheme struct {
	scheme.Scheme
	Controlled bool      // its flows have a congestion controller
	Gauged     bool      // its senders are Gauged
	Buffered   bool      // its senders have a send buffer: they count when the last write returned
	Timed      bool      // they measure round-trip times and rates of delivery: Gauge.RTT, Gauge.Delivery
	Headers    int32     // bytes of the transport's header in a full packet; an MTU without IP's and these is the payload
	First      int32     // additional bytes of a flow's first packet, for which an MTU leaves room as well
	Reply      int32     // additional bytes of an acknowledgement
	Tick       unit.Time // unit of the stamps that its endpoints read; 0: they read time as it is
	Multiple   int32     // it pads payload to a multiple of this, and an MTU's payload is one; 0: it does not
	// Kernel is the IP protocol with sockets that do the same in a kernel: packet.ProtoUDP, or, with the parameters of
	// package tcp, packet.ProtoTCP; 0: no kernel has it.
	Kernel uint8
	Proto  uint8 // of its packets (packet.Packet.Proto)
	// Captured carries datagrams of a capture in this scheme's place, as in Flow.Script; nil: it cannot.
	Captured *Scheme
	// Build makes the two endpoints of a flow with a configuration of the scheme; nil: the defaults. Define sets it.
	Build func(f Flow, c scheme.Config) (sender, receiver Endpoint, err error)
	// Rebuild is Build with the memory of a flow that is over, of the same scheme and configuration. Its ends must have
	// no other references. It returns nil for both if their types differ from its own; the caller builds then. nil: there
	// is Build only. DefineReusing sets it.
	Rebuild func(f Flow, c scheme.Config, old EndpointPair) (sender, receiver Endpoint, err error)
}

// DefineReusing is Define for a scheme that can make the ends of a flow from old ones, if there are any.
func DefineReusing[C any, P scheme.Bound[C], S, R Endpoint](s Scheme,
	rebuild func(f Flow, c C, old EndpointPair) (S, R, error)) Scheme {
	s = Define[C, P](s, func(f Flow, c C) (S, R, error) { return rebuild(f, c, EndpointPair{}) })
	s.Rebuild = func(f Flow, c scheme.Config, old EndpointPair) (Endpoint, Endpoint, error) {
		_, sends := old.Sender.(S)
		if _, receives := old.Receiver.(R); !sends || !receives {
			return nil, nil, nil
		}
		config, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, nil, fmt.Errorf("transport %s: %w", s.Name, err)
		}
		sender, receiver, err := rebuild(f, config, old)
		if err != nil {
			return nil, nil, err
		}
		return sender, receiver, nil
	}
	return s
}

// Define completes a scheme by a function that makes the two endpoints of a flow. build gets configurations of type C.
// All their values are in their ranges and go together.
func Define[C any, P scheme.Bound[C], S, R Endpoint](s Scheme, build func(f Flow, c C) (S, R, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	s.Build = func(f Flow, c scheme.Config) (Endpoint, Endpoint, error) {
		config, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, nil, fmt.Errorf("transport %s: %w", s.Name, err)
		}
		sender, receiver, err := build(f, config)
		if err != nil {
			return nil, nil, err
		}
		return sender, receiver, nil
	}
	return s
}

// WarningSource is a configuration whose values, allowed as they are, may have no effect or an unexpected one.
type WarningSource interface{ Warns() []scheme.Remark }

// Ported is a receiver with a sender that has several source ports, one for each path that it chooses.
type Ported interface {
	Ports() []uint16 // ports in addition to the flow's own
}
