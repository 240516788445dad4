package window

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// header is the transport's own header on the wire: kind, sequence,
// acknowledgement (packet.Emit).
const header = 16

// config is a flow's window and its retransmission timeout.
type config struct {
	Window  int       // packets
	Timeout unit.Time // the first one; it doubles up to 64 times
}

// Params binds the options of window to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Packets(&c.Window, "window", "", "maximum packets in flight; it fills a path whose bandwidth-delay product is "+
		"at most this", "Weir").Required().Min("1 packet")
	p.Time(&c.Timeout, "timeout", "1ms", "first retransmission timeout; it doubles up to 64 times; set it above the "+
		"round-trip time with full queues", "Weir").Min("1us")
}

// Traits returns the timer, which is fixed.
func (c *config) Traits() transport.Traits {
	return transport.Traits{Timer: func(*cc.Path) transport.Timer {
		return transport.Timer{Param: "timeout", Timeout: c.Timeout, Fixed: true}
	}}
}

// Scheme returns the transport window.
func Scheme() transport.Scheme {
	return transport.Define(transport.Scheme{
		Scheme: scheme.Scheme{Name: "window",
			Doc: "fixed window of packets, one ACK per packet and go-back-N, without congestion control", Source: "Weir"},
		Headers: header, Proto: packet.ProtoOwn, Gauged: true,
	}, func(f transport.Flow, c config) (*Sender, *Receiver, error) {
		if f.Size <= 0 {
			return nil, nil, fmt.Errorf("transport window: a flow needs a size above 0")
		}
		s, r := New(f, c.Window, c.Timeout)
		return s, r, nil
	})
}

// New makes the two endpoints of flow f with a window in packets of f.Payload bytes. timeout does not follow the
// measured round trips; it doubles at each expiry without progress, up to 64 times. f must have a size.
func New(f transport.Flow, window int, timeout unit.Time) (*Sender, *Receiver) {
	headers := packet.EthernetHeader + packet.IPHeader(f.Version) + header
	s := &Sender{
		flow: f, size: int64(f.Size), window: int64(window) * int64(f.Payload),
		headers: headers, hash: packet.FlowHash(f.Src, f.Dst, f.SrcPort, f.DstPort, packet.ProtoOwn),
		timer: transport.RTO{Floor: timeout, Fixed: true}, timerAt: unit.Never,
	}
	s.counters.Finished = unit.Never
	r := &Receiver{
		size: int64(f.Size), nacked: -1,
		hash:     packet.FlowHash(f.Dst, f.Src, f.DstPort, f.SrcPort, packet.ProtoOwn),
		ackFrame: f.Framing.FrameBytes(headers, 0, false),
	}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
	return s, r
}

// Sender is the sending half.
type Sender struct {
	flow     transport.Flow
	size     int64
	window   int64 // bytes
	next     int64 // next byte to send; a loss moves it back to unacked
	unacked  int64 // first byte not acknowledged
	highest  int64 // first byte never sent
	timer    transport.RTO
	timerAt  unit.Time
	headers  int32
	hash     uint32
	resent   packet.ResendCause // why next last fell behind highest
	counters transport.Counters
}

// NextSend returns the flow's start while the window is open, or unit.Never.
func (s *Sender) NextSend() unit.Time {
	if s.next >= s.size || s.next-s.unacked >= s.window {
		return unit.Never
	}
	return s.flow.Start
}

// Emit fills p with the next packet of the window, which must be open, and counts it. It sets the timer unless that
// runs.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	payload := min(int64(s.flow.Payload), s.size-s.next)
	p.Kind = packet.Data
	p.Seq = s.next
	p.Payload = int32(payload)
	p.Size = s.flow.Framing.FrameBytes(s.headers, p.Payload, true)
	p.Hash = s.hash
	p.SrcPort, p.DstPort = s.flow.SrcPort, s.flow.DstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoOwn, s.flow.Version, s.flow.TOS, 64
	s.counters.SentPackets++
	if s.next < s.highest {
		s.counters.Retransmitted++
		p.Resent = s.resent
	} else {
		s.counters.SentBytes += unit.Bytes(payload)
	}
	s.next += payload
	s.highest = max(s.highest, s.next)
	if s.timerAt == unit.Never {
		s.timerAt = now + s.timer.Timeout()
	}
}

// Receive handles an acknowledgement or a NACK. Its Ack is the next byte that the receiver expects. A NACK of the first
// unacknowledged byte makes the sender go back to it.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if p.Ack > s.unacked && p.Ack <= s.highest {
		s.unacked = p.Ack
		s.next = max(s.next, s.unacked)
		s.timer.RestartWait(now)
		if s.timerAt = now + s.timer.Timeout(); s.unacked == s.highest {
			s.timerAt = unit.Never
		}
		if s.unacked == s.size && s.counters.Finished == unit.Never {
			s.counters.Finished = now
		}
	}
	if p.Kind == packet.Nack && p.Ack == s.unacked && s.unacked < s.size {
		s.next, s.resent = s.unacked, packet.ResentReceiver
	}
	return false
}

// NextTimer returns when the retransmission timer expires.
func (s *Sender) NextTimer() unit.Time { return s.timerAt }

// Advance goes back to the first unacknowledged byte if the timer has expired.
func (s *Sender) Advance(now unit.Time) {
	if now < s.timerAt {
		return
	}
	s.next, s.resent = s.unacked, packet.ResentTimeout
	s.timer.RecordExpiry(now)
	s.timer.Timeouts++
	s.timerAt = now + s.timer.Timeout()
}

// Counters returns the sender's counters. Finished is when the last byte was acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts returns the number of expiries of the retransmission timer.
func (s *Sender) Timeouts() int64 { return s.timer.Timeouts }

// Gauge returns the window and the bytes in flight. There is no pacing.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(s.window), InFlight: unit.Bytes(s.next - s.unacked)}
}

// Receiver is the receiving half. It accepts packets in order only.
type Receiver struct {
	transport.Passive
	expected int64
	size     int64
	nacked   int64 // expected when the last NACK was sent: one NACK a gap
	hash     uint32
	ackFrame int32
	counters transport.Counters
}

// Receive turns a data packet into its acknowledgement. A gap, or a trimmed packet, gives one NACK, and packets after
// it are dropped silently.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	c := &r.counters
	c.ReceivedPackets++
	kind := packet.Ack
	switch {
	case p.Meta.Flags&packet.Trimmed != 0 || p.Seq > r.expected:
		if r.nacked == r.expected {
			return false
		}
		r.nacked = r.expected
		kind = packet.Nack
	case p.Seq+int64(p.Payload) <= r.expected:
		c.CountDuplicate(p)
	default:
		c.ReceivedBytes += unit.Bytes(p.Seq + int64(p.Payload) - r.expected)
		r.expected = p.Seq + int64(p.Payload)
		c.AddDelay(now - p.Sent)
		if r.expected == r.size {
			c.Finished = now
		}
	}
	p.Kind = kind
	p.Ack = r.expected
	p.Payload = 0
	p.Size = r.ackFrame
	p.Hash = r.hash
	p.Src, p.Dst = p.Dst, p.Src
	p.SrcPort, p.DstPort = p.DstPort, p.SrcPort
	p.HopLimit = 64
	p.Data = nil
	return true
}

// Counters returns the receiver's counters. Finished is when the last byte arrived.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }
