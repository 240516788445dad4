package transport

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// An Endpoint is one half of a flow, at the sending or at the receiving host: a
// pure state machine. The host calls it with the time and asks it afterwards
// what it wants: NextSend and NextTimer are read after every call, because any
// call may change them.
type Endpoint interface {
	// Receive takes a packet of the flow in. It returns true when it has turned p
	// into a packet to be sent (a receiver turns data into its acknowledgement in
	// place); otherwise the host frees p.
	Receive(now unit.Time, p *packet.Packet) (reply bool)
	// NextSend is the earliest time at which Emit would give a packet: a time in
	// the past or now when it could at once, unit.Never when something has to be
	// received first. A flow that starts later answers its start time.
	NextSend() unit.Time
	// Emit fills the zeroed p with the next packet of the flow. The host calls it
	// only when NextSend is not later than now, and has set Flow and the
	// addresses; the endpoint sets Seq, Payload, Size, ports, protocol, TOS, Kind.
	Emit(now unit.Time, p *packet.Packet)
	// NextTimer is when Advance wants to be called; unit.Never for none.
	NextTimer() unit.Time
	// Advance is called when NextTimer has come.
	Advance(now unit.Time)
	// Counters gives what the endpoint has counted so far; the host reads it.
	Counters() *Counters
}

// Gauge is what a sender that controls congestion shows of itself.
type Gauge struct {
	Window   unit.Bytes // congestion window, of payload
	InFlight unit.Bytes // payload that is sent and neither delivered nor lost
	Rate     unit.Rate  // pacing rate of payload; 0: not paced
	Derived  bool       // Rate follows from Window and the round-trip time: no decision of its own
	RTT      unit.Time  // smoothed round-trip time; 0: none was measured
	Delivery unit.Rate  // latest rate of delivery of payload; 0: none was measured
}

// Gauged is a sender that shows its state.
type Gauged interface{ Gauge() Gauge }

// A Retransmitter is a sender that has a retransmission timer.
type Retransmitter interface {
	Timeouts() int64 // how often it has expired since the start
}

// Abandoner is a sender that gives its connection up when nothing answers for too long.
type Abandoner interface {
	Abandoned() bool // it has done so
}

// Classed is an Endpoint whose packets are not of priority class 0.
type Classed interface {
	// Class is the class, 0 to 7, of all that the endpoint sends; 0 is the first in
	// strict priority.
	Class() uint8
}

// Replier is an Endpoint whose packets may all be replies that were delayed, by a NIC or to acknowledge several packets
// at once. A host sends them before data, as it does with replies that are made at once.
type Replier interface {
	// Replies reports whether they are. It does not change.
	Replies() bool
}

// Rescheduling is an Endpoint that shares something with others of its host, so that a call
// into it may change when another one wants to send.
type Rescheduling interface {
	// Rescheduled names such another one, a flow whose receiver is at this host. The host
	// asks after every call into the endpoint until ok is false, and reads NextSend and
	// NextTimer of those named.
	Rescheduled() (flow packet.FlowID, ok bool)
}

// Passive is the part of an Endpoint that sends nothing by itself and has no
// timer: to be embedded by receivers that only reply or only count.
type Passive struct{}

// NextSend is never.
func (Passive) NextSend() unit.Time { return unit.Never }

// Emit is never called.
func (Passive) Emit(unit.Time, *packet.Packet) {}

// NextTimer is never.
func (Passive) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (Passive) Advance(unit.Time) {}

// Counters is what an endpoint counts from its start on. Measures over a part
// of a run are differences of two copies.
type Counters struct {
	Sent
	Received

	// Delays counts one-way delays one by one, for percentiles; nil: it does not.
	Delays *unit.Histogram

	lastDelay unit.Time

	Last     unit.Time // when a receiver that nothing answers got its latest datagram; 0: none, or another receiver
	Finished unit.Time // when the flow was complete as this endpoint sees it; unit.Never until then
	// when the application's last write returned: all is in the send buffer; unit.Never until then, 0
	// where there is no such buffer
	Written unit.Time
	Began   unit.Time // when the application began to write, if not at the flow's start; else 0
}

// Sent is what an endpoint counts of what it sends.
type Sent struct {
	SentPackets   int64
	SentBytes     unit.Bytes // payload
	Retransmitted int64      // packets sent again
	NacksTaken    int64      // of a sender: NACKs of the network that it has believed
	NacksRefused  int64      // … and those that are not of this flow, damaged, old, or of nothing that is out
	Unacked       unit.Bytes // payload that was not acknowledged when the application's last write returned
}

// Since returns what was counted between first, a copy of before, and s.
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

// Since returns what was counted between first, a copy of before, and r. Jitter and the least and largest delay
// stay as they are in r.
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

// Duplicates returns the number of packets without new payload.
func (r *Received) Duplicates() (n int64) {
	for _, of := range r.Spurious {
		n += of
	}
	return n
}

// Delay counts the one-way delay of a data packet that was received: sum,
// minimum, maximum and RFC 3550 §6.4.1's interarrival jitter J += (|D| − J)/16.
func (c *Counters) Delay(d unit.Time) {
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

// Since returns what was counted between first, a copy of before, and c. Times, jitter and
// the least and largest delay stay as they are in c; Delays are not copied.
func (c *Counters) Since(first *Counters) Counters {
	d := *c
	d.Delays = nil
	d.Sent, d.Received = c.Sent.Since(&first.Sent), c.Received.Since(&first.Received)
	return d
}

// A Flow is what a transport needs to know to make its two endpoints.
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
	Script   *Script     // of a capture, which the flow has in place of a size; nil: it is of none
	Random   unit.Random // the flow's own random stream
	Seed     uint64      // of the run
	Path     cc.Path     // what is known of the path

	Telemetry *telemetry.Format // of the network; nil: no switch writes any
	Host      *cc.Host          // what the receivers at the flow's destination share; may be nil

	CC       *cc.Scheme    // the congestion controller, of transports that are Controlled
	CCConfig scheme.Config // of it
}

// EndpointPair are the two ends of a flow; both are nil where there are none.
type EndpointPair struct{ Sender, Receiver Endpoint }

// Script is what a flow of a capture sends, in order.
type Script []Datagram

// Datagram is one of a flow that a capture has.
type Datagram struct {
	After   unit.Time // the flow's start
	Payload int32
}

// Scheme is a transport that an experiment can name.
type Scheme struct {
	scheme.Scheme
	Controlled bool      // its flows have a congestion controller
	Gauged     bool      // its senders are Gauged
	Buffered   bool      // its senders have a send buffer: they count when the last write returned
	Timed      bool      // they measure round-trip times and rates of delivery: Gauge.RTT, Gauge.Delivery
	Headers    int32     // bytes of the transport's header in a full packet: what an MTU leaves after IP's is the payload
	First      int32     // bytes that a flow's first packet has more, which an MTU leaves room for as well
	Reply      int32     // bytes that an acknowledgement has more
	Tick       unit.Time // of which stamps that its endpoints read are multiples; 0: they read time as it is
	Multiple   int32     // to a multiple of which it pads payload, and an MTU's payload is one; 0: it does not
	// Kernel is the IP protocol whose sockets do the same in a kernel: packet.ProtoUDP, or, with the
	// parameters of package tcp, packet.ProtoTCP; 0: no kernel has it.
	Kernel uint8
	Proto  uint8 // of its packets (packet.Packet.Proto)
	// Captured carries datagrams of a capture in this one's place, as Flow.Script has them; nil: it cannot.
	Captured *Scheme
	// Build makes the two endpoints of a flow with a configuration of the scheme: nil for the
	// defaults. Define writes it.
	Build func(f Flow, c scheme.Config) (sender, receiver Endpoint, err error)
	// Rebuild is Build, which may take the memory of a flow that is over, of the same scheme and configuration, whose
	// ends nobody has any more. It makes none if these are not of its own kind: who asks builds then. nil: there is
	// Build only. DefineReusing writes it.
	Rebuild func(f Flow, c scheme.Config, old EndpointPair) (sender, receiver Endpoint, err error)
}

// DefineReusing is Define for a scheme that may make the ends of a flow of old ones, if there are any.
func DefineReusing[C any, P scheme.Bound[C], S, R Endpoint](s Scheme,
	rebuild func(f Flow, c C, old EndpointPair) (S, R, error)) Scheme {
	s = Define[C, P](s, func(f Flow, c C) (S, R, error) { return rebuild(f, c, EndpointPair{}) })
	s.Rebuild = func(f Flow, c scheme.Config, old EndpointPair) (Endpoint, Endpoint, error) {
		_, sends := old.Sender.(S)
		if _, receives := old.Receiver.(R); !sends || !receives {
			return nil, nil, nil
		}
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, nil, fmt.Errorf("transport %s: %w", s.Name, err)
		}
		sender, receiver, err := rebuild(f, own, old)
		if err != nil {
			return nil, nil, err
		}
		return sender, receiver, nil
	}
	return s
}

// Define completes a scheme by what makes the two endpoints of a flow, for configurations of
// type C, in which all values are in their ranges and go together.
func Define[C any, P scheme.Bound[C], S, R Endpoint](s Scheme, build func(f Flow, c C) (S, R, error)) Scheme {
	s.Config = scheme.For[C, P]
	s.Build = func(f Flow, c scheme.Config) (Endpoint, Endpoint, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, nil, fmt.Errorf("transport %s: %w", s.Name, err)
		}
		sender, receiver, err := build(f, own)
		if err != nil {
			return nil, nil, err
		}
		return sender, receiver, nil
	}
	return s
}

// Warner is a configuration whose values, allowed as they are, may have no effect or an unexpected one.
type Warner interface{ Warns() []scheme.Remark }

// Ported is a receiver whose sender has several source ports, one for each path that it chooses.
type Ported interface {
	Ports() []uint16 // beside the flow's own
}
