package rdma

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// recovery decides which packets are lost, and when the sender waits no longer for an answer.
type recovery struct {
	config  Config
	repeats bool // selective repeat
	outstanding
	reordering
	prober
	timer transport.RTO // IRN's RTO_high is its floor
	paths *paths        // nil: one
}

// prober has the probes of a sender without a timeout of its own.
type prober struct {
	loss      transport.LossTimer
	limitedAt unit.Time // when the limit of loss was over last
	probeSeq  int64     // sequence number of the latest probe of loss
}

// outstanding are the packets of a flow that are sent and not acknowledged.
//
// Packets are numbered: those below una are acknowledged, those from top on were never
// sent, and next is what comes next unless something lost goes first. With go-back-N
// next may fall behind top; otherwise the two are one.
type outstanding struct {
	una, next, top int64
	goBack         packet.ResendCause // go-back-N: why next fell behind top last
	ring           transport.Ring[sent]

	// selective repeat
	sackedOut int   // packets beyond una that the receiver holds
	goneOut   int   // packets that are taken for lost and not sent again yet
	judged    int64 // packets below are SACKed, or taken for lost
	eligible  int64 // those taken for lost below this are sent again
	hint      int64 // none of them is below this

	lostTotal int64 // packets taken for lost since the start

	// NACKs of the network
	namedOut  int   // of the packets in goneOut, those that the network has named
	namedHint int64 // none of them is below this
}

// sent is the state of one packet, of its last transmission.
type sent struct {
	at unit.Time
	transport.Departure
	flags  uint16
	number uint8 // of the transmission, mod 128
	path   uint8
}

const (
	sacked    uint16 = 1 << iota // the receiver holds it
	gone                         // taken for lost, and not sent again yet
	resent                       // sent again since it was taken for lost; with go-back-N since a NACK of the network
	everSent                     // sent more than once: no RTT sample (Karn)
	noticed                      // this transmission has had a notice
	limited                      // the application had no more when it was sent
	nacked                       // the network has said that this transmission is gone
	throttled                    // or, of it, that the flow is an elephant
	answered                     // the receiver has answered it
	unasked                      // its answer may have waited for others
	expired                      // taken for lost because no answer arrived in time
	proven                       // taken for lost because a probe that was sent later was answered
	waited                       // taken for lost after the patience (waits), without proof
)

func (o *outstanding) at(n int64) *sent { return o.ring.At(n) }

func (o *outstanding) inFlight() int64 {
	return o.next - o.una - int64(o.sackedOut) - int64(o.goneOut)
}

// lost is the first packet that is to be sent again with selective repeat, or because the
// network has named it; −1: none.
func (o *outstanding) lost() int64 {
	if o.goneOut == 0 {
		return -1
	}
	n := int64(-1)
	for o.hint = max(o.hint, o.una); o.hint < o.eligible; o.hint++ {
		if o.at(o.hint).flags&gone != 0 {
			n = o.hint
			break
		}
	}
	if o.namedOut == 0 {
		return n
	}
	for o.namedHint = max(o.namedHint, o.una); o.namedHint < o.top; o.namedHint++ {
		if o.at(o.namedHint).flags&(gone|nacked) == gone|nacked {
			if n < 0 || o.namedHint < n {
				return o.namedHint
			}
			break
		}
	}
	return n
}

// out is the state of packet n if it is out and not SACKed; nil if it is not.
func (o *outstanding) out(n int64) *sent {
	if n < o.una || n >= o.top {
		return nil
	}
	if x := o.at(n); x.flags&sacked == 0 {
		return x
	}
	return nil
}

// isOut reports whether transmission e is its packet's latest one, and not known to be there or lost.
func (o *outstanding) isOut(e *transport.Flight) bool {
	if e.Packet < o.una {
		return false
	}
	x := o.at(e.Packet)
	return x.at == e.At && x.flags&(sacked|gone) == 0
}

// goBackTo has go-back-N send packets from n on again.
func (o *outstanding) goBackTo(n int64, why packet.ResendCause) { o.next, o.goBack = n, why }
