package transport

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// WriteRequest writes the request of the controller to switches into the data packet p, with these flags of packet.Bolt
// and the time now. It has no effect if the flow's packets carry no requests.
func (x *TelemetryRequester) WriteRequest(now unit.Time, p *packet.Packet, flags uint8) {
	if x.requests {
		p.SetBolt(&packet.Bolt{Flags: flags, Sent: packet.BoltClock(now)}, false)
	}
}

// ReadAnswer reads the switches' answer to a packet's request from its acknowledgement p into Answer and Drain of
// result. It reports whether there is an answer.
func (x *TelemetryRequester) ReadAnswer(p *packet.Packet, result *cc.Telemetry) bool {
	var h packet.Bolt
	if !x.requests || !p.Bolt(&h, true) {
		return false
	}
	result.Answer = h.Flags
	if h.Flags&(packet.BoltDecrease|packet.BoltNotified) == packet.BoltDecrease && h.Link > 0 {
		result.Drain = uint32(min(unit.TransmitTime(h.Queue, h.Link)/unit.Nanosecond, 1<<32-1))
	}
	return true
}

// ReadNotice returns a switch's notice that a packet has found a queue. sent is when the packet was last sent. ok is
// false if p has no notice of that transmission.
func (x *TelemetryRequester) ReadNotice(p *packet.Packet, sent unit.Time) (n cc.Notice, ok bool) {
	var h packet.Bolt
	if !x.requests || !p.Bolt(&h, true) || h.Flags&packet.BoltNotified == 0 || h.Sent != packet.BoltClock(sent) ||
		h.Queue == 0 || h.Link == 0 {
		return n, false
	}
	return cc.Notice{Kind: cc.QueueNotice, Queue: h.Queue, Link: h.Link, Sent: sent}, true
}

// CarriesRequests reports whether the flow's packets carry requests.
func (x *TelemetryRequester) CarriesRequests() bool { return x.requests }
