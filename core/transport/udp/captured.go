package udp

import (
	"errors"
	"fmt"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// capturedConfig is the configuration of a sender of a capture's datagrams. The capture determines the rest.
type capturedConfig struct {
	Weir bool // in the lab the hosts are Weir's own
}

// Params binds the options of a captured flow to the fields of c, which keep their values.
func (c *capturedConfig) Params(p *scheme.Params) { transport.BindStack(p, &c.Weir) }

// Traits returns which hosts run it in the lab.
func (c *capturedConfig) Traits() transport.Traits { return transport.Traits{OwnStack: c.Weir} }

// capturedScheme returns the scheme that carries a capture's datagrams under the name udp.
func capturedScheme() *transport.Scheme {
	s := transport.Define(transport.Scheme{
		Scheme:  scheme.Scheme{Name: "udp", Doc: "datagrams of a capture, sent at their original times", Source: "Weir"},
		Headers: packet.UDPHeader, Kernel: packet.ProtoUDP, Proto: packet.ProtoUDP,
	}, newCaptured)
	return &s
}

// MinCaptured is the minimum payload of a capture's datagram: the lab's kernels use that many bytes to identify it.
const MinCaptured = 16

// newCaptured makes the endpoints of a flow of a capture. It returns an error without datagrams, for a payload out of
// range, or for datagrams out of order.
func newCaptured(f transport.Flow, _ capturedConfig) (*capturedSender, *Receiver, error) {
	if f.Script == nil || len(*f.Script) == 0 {
		return nil, nil, errors.New("transport udp: a flow of a capture without datagrams")
	}
	last := unit.Time(0)
	for i, d := range *f.Script {
		if d.Payload < MinCaptured || d.Payload > f.Payload || d.Offset < last {
			return nil, nil, fmt.Errorf("transport udp: datagram %d of a capture has %d bytes of payload, %v after the start; "+
				"allowed: %d … %d bytes, in order of time", i, d.Payload, d.Offset, MinCaptured, f.Payload)
		}
		last = d.Offset
	}
	_, r, err := New(f, Config{Rate: unit.Gbps, Pattern: CBR})
	if err != nil {
		return nil, nil, err
	}
	s := &capturedSender{flow: f, script: *f.Script, headers: ownHeaders(f.Version),
		hash: packet.FlowHash(f.Src, f.Dst, f.SrcPort, f.DstPort, packet.ProtoUDP)}
	s.counters.Finished = unit.Never
	return s, r, nil
}

// ownHeaders returns the number of bytes before a datagram's payload.
func ownHeaders(version uint8) int32 {
	return packet.EthernetHeader + packet.IPHeader(version) + packet.UDPHeader
}

// capturedSender sends the datagrams of a capture at its times. A datagram that has to wait for the NIC is sent as soon
// as it is free, and later ones at their own times.
type capturedSender struct {
	flow     transport.Flow
	script   transport.Script
	headers  int32
	hash     uint32
	next     int // index in script
	counters transport.Counters
}

// NextSend returns when the next datagram is due, by the script; unit.Never after the last one, or for one due at the
// flow's stop or later.
func (s *capturedSender) NextSend() unit.Time {
	if s.next == len(s.script) {
		return unit.Never
	}
	at := addTime(s.flow.Start, s.script[s.next].Offset)
	if s.flow.Stop > 0 && at >= s.flow.Stop {
		return unit.Never
	}
	return at
}

// Emit fills p with the next datagram, which must exist, and counts it.
func (s *capturedSender) Emit(now unit.Time, p *packet.Packet) {
	payload := s.script[s.next].Payload
	p.Kind, p.Seq, p.Payload = packet.Data, int64(s.next), payload
	p.Size = s.flow.Framing.FrameBytes(s.headers, payload, true)
	p.Hash = s.hash
	p.SrcPort, p.DstPort = s.flow.SrcPort, s.flow.DstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoUDP, s.flow.Version, s.flow.TOS, 64
	s.counters.SentPackets++
	s.counters.SentBytes += unit.Bytes(payload)
	if s.next++; s.next == len(s.script) {
		s.counters.Finished = now
	}
}

// Receive is never called: the receiver does not answer.
func (s *capturedSender) Receive(unit.Time, *packet.Packet) bool { return false }

// NextTimer returns unit.Never: NextSend has the schedule.
func (s *capturedSender) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (s *capturedSender) Advance(unit.Time) {}

// Counters returns the sender's counters. Finished is when the last datagram was sent.
func (s *capturedSender) Counters() *transport.Counters { return &s.counters }
