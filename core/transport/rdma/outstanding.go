package rdma

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// recovery decides which packets are lost, and how long the sender waits for an answer.
type recovery struct {
	config  Config
	repeats bool // selective repeat
	outstanding
	reordering
	prober
	timer transport.RTO // IRN's RTO_high is its floor
	paths *paths        // nil: the flow has one path
}

// prober has the probes of a sender without a retransmission timeout.
type prober struct {
	loss      transport.LossTimer
	limitedAt unit.Time // when the limit of loss last expired
	probeSeq  int64     // sequence number of the latest probe of loss
}

// outstanding are the packets of a flow that are sent and not acknowledged.
//
// Packets below una are acknowledged, and packets from top on were never sent. next is sent next unless a lost packet
// goes first. With go-back-N next may fall behind top; otherwise the two are equal.
type outstanding struct {
	una, next, top int64
	goBack         packet.ResendCause // go-back-N: why next last fell behind top
	ring           transport.Ring[sent]

	// selective repeat
	sackedOut int   // packets beyond una that the receiver holds
	goneOut   int   // packets that are declared lost and not resent yet
	judged    int64 // packets below are SACKed, or declared lost
	eligible  int64 // packets below this that are declared lost are resent
	hint      int64 // no such packet is below this

	lostTotal int64 // packets declared lost since the start

	// NACKs of the network
	namedOut  int   // of the packets in goneOut, those that the network has named
	namedHint int64 // no such packet is below this
}

// sent is the state of one packet and of its last transmission.
type sent struct {
	sentAt unit.Time
	transport.Departure
	flags  uint16
	number uint8 // of the transmission, mod 128
	path   uint8
}

const (
	sacked    uint16 = 1 << iota // the receiver holds it
	gone                         // declared lost, and not resent yet
	resent                       // resent since it was declared lost; with go-back-N since a NACK of the network
	everSent                     // sent more than once: no RTT sample (Karn)
	noticed                      // this transmission has had a notice
	limited                      // the application had no more data when it was sent
	nacked                       // the network has reported this transmission as lost
	throttled                    // the network has reported of this transmission that the flow is an elephant
	answered                     // the receiver has answered it
	unasked                      // its answer may have waited for others
	expired                      // declared lost because no answer arrived in time
	proven                       // declared lost because a probe that was sent later was answered
	waited                       // declared lost after the patience (waits), without proof
)

// packetState returns the state of packet n, which must be in the window: una ≤ n < next. The pointer is valid until
// the ring grows.
func (o *outstanding) packetState(n int64) *sent { return o.ring.At(n) }

// inFlight returns the number of packets that are sent and neither delivered nor declared lost.
func (o *outstanding) inFlight() int64 {
	return o.next - o.una - int64(o.sackedOut) - int64(o.goneOut)
}

// nextLost returns the first packet that is to be resent with selective repeat, or because the network has named it;
// −1: there is no such packet.
func (o *outstanding) nextLost() int64 {
	if o.goneOut == 0 {
		return -1
	}
	n := int64(-1)
	for o.hint = max(o.hint, o.una); o.hint < o.eligible; o.hint++ {
		if o.packetState(o.hint).flags&gone != 0 {
			n = o.hint
			break
		}
	}
	if o.namedOut == 0 {
		return n
	}
	for o.namedHint = max(o.namedHint, o.una); o.namedHint < o.top; o.namedHint++ {
		if o.packetState(o.namedHint).flags&(gone|nacked) == gone|nacked {
			if n < 0 || o.namedHint < n {
				return o.namedHint
			}
			break
		}
	}
	return n
}

// outstandingPacket returns the state of packet n if it is sent, not acknowledged and not SACKed; else nil.
func (o *outstanding) outstandingPacket(n int64) *sent {
	if n < o.una || n >= o.top {
		return nil
	}
	if x := o.packetState(n); x.flags&sacked == 0 {
		return x
	}
	return nil
}

// isInFlight reports whether transmission e is its packet's latest one, and the packet is neither delivered nor lost.
func (o *outstanding) isInFlight(e *transport.Flight) bool {
	if e.Packet < o.una {
		return false
	}
	x := o.packetState(e.Packet)
	return x.sentAt == e.SentAt && x.flags&(sacked|gone) == 0
}

// goBackTo makes go-back-N resend packets from n on, because of why.
func (o *outstanding) goBackTo(n int64, why packet.ResendCause) { o.next, o.goBack = n, why }
