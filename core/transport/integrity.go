package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"weir/core/packet"
	"weir/core/scheme"
)

// Checks by which a sender accepts feedback: values of TelemetryOptions.Integrity.
const (
	IntegrityNone  = "none"  // accept every packet that looks like an answer of the flow
	IntegrityKeyed = "keyed" // accept a packet once, if it carries the receiver's code
)

// Authentication is the packet extension with a message authentication code of feedback
// (draft-miao §9.1: feedback is "at least integrity checked"): 4 bytes, the lower half of
// the message's number, and 16 bytes, HMAC-SHA-256-128 (RFC 2104, RFC 4868 §2.1). It does
// not change en route.
const Authentication uint8 = 0x17

const (
	numberBytes = 4
	codeBytes   = 16

	// sealBytes is the size of the extension in a header of its own, by which a frame of a fixed framing grows.
	sealBytes = (2 + numberBytes + codeBytes + 2 + 7) &^ 7

	replayed = 64 // size of the replay window: numbers below the highest (RFC 4303 §3.4.3)
)

// bindIntegrity binds the parameters of transports that can seal feedback.
func (a *TelemetryOptions) bindIntegrity(p *scheme.Params) {
	p.Text(&a.Integrity, "integrity", IntegrityNone,
		"protection of feedback; keyed: every packet of the receiver carries a code that the sender verifies, and is "+
			"accepted once; none: no protection", "draft-miao-iccrg-hpccplus-01 §9.1").Words(IntegrityNone, IntegrityKeyed)
	p.Text(&a.Key, "feedback_key", "",
		"with integrity: keyed: secret from which the keys of flows are derived; without it, the run's seed", "Weir").
		When("integrity: keyed", func() bool { return a.Integrity == IntegrityKeyed })
}

// seal is the state with which one end of a flow writes or checks codes. Like IPsec's extended sequence numbers
// (RFC 4303 §2.2.1) a message's number has 64 bits. Packets carry the lower 32.
type seal struct {
	code    hash.Hash
	number  uint64 // the last number written, or the highest accepted; they begin at 1
	bitmap  uint64 // bit k: number−k was accepted
	fixed   bool   // the framing does not count extensions
	message [64 + 256 + packet.StackRoom]byte
	sum     [sha256.Size]byte
}

// newSeal returns the seal of one end of flow f; nil without IntegrityKeyed. The flow's key is HMAC-SHA-256(secret,
// flow's number and ports), so that feedback of one flow is not valid for another.
func newSeal(f *Flow, a *TelemetryOptions) *seal {
	if a.Integrity != IntegrityKeyed {
		return nil
	}
	secret := []byte("key " + a.Key)
	if a.Key == "" {
		secret = binary.BigEndian.AppendUint64([]byte("seed "), f.Seed)
	}
	k := hmac.New(sha256.New, secret)
	b := binary.BigEndian.AppendUint32([]byte("feedback"), uint32(f.ID))
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, f.SrcPort), f.DstPort)
	k.Write(b)
	return &seal{code: hmac.New(sha256.New, k.Sum(nil)), fixed: f.Framing.IsFixed()}
}

// addExtension puts the extension into p, with the next number and without a code, so that p's bytes include it. A
// telemetry stack has separate space, so that there is always room for the extension.
func (s *seal) addExtension(p *packet.Packet) {
	var b [numberBytes + codeBytes]byte
	s.number++
	binary.BigEndian.PutUint32(b[:], uint32(s.number))
	p.SetExtension(Authentication, b[:])
}

// writeCode writes the code of p into its extension, which addExtension has added. With a fixed framing it also adds
// sealBytes to p.Size. p must not change afterwards.
func (s *seal) writeCode(p *packet.Packet) {
	if s.fixed {
		p.Size += sealBytes
	}
	if b, ok := p.Extension(Authentication); ok {
		copy(b[numberBytes:], s.computeCode(p, s.number))
	}
}

// checkCode reports whether p is feedback of this flow that was not received earlier, and records its number if so. It
// accepts numbers in any order within the last 64 (RFC 4303 §3.4.3), and refuses older ones.
func (s *seal) checkCode(p *packet.Packet) bool {
	b, ok := p.Extension(Authentication)
	if !ok || len(b) != numberBytes+codeBytes {
		return false
	}
	ahead := int64(int32(binary.BigEndian.Uint32(b) - uint32(s.number)))
	if ahead <= -replayed || ahead <= 0 && s.bitmap>>-ahead&1 == 1 {
		return false
	}
	number := s.number + uint64(ahead)
	if !hmac.Equal(b[numberBytes:], s.computeCode(p, number)) {
		return false
	}
	if ahead > 0 {
		s.number, s.bitmap = number, s.bitmap<<ahead|1
	} else {
		s.bitmap |= 1 << -ahead
	}
	return true
}

// computeCode returns the code of p with this number. It covers the transport's header and all other extensions. It
// does not cover fields that routers may change (TOS, hop limit), and fields for which some header has no room.
func (s *seal) computeCode(p *packet.Packet, number uint64) []byte {
	be := binary.BigEndian
	b := be.AppendUint64(s.message[:0], number)
	b = append(b, p.Version, p.Proto)
	b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), p.DstPort)
	b = be.AppendUint32(b, uint32(p.Payload))
	switch p.Proto {
	case packet.ProtoTCP:
		t := &p.TCP
		b = be.AppendUint32(be.AppendUint32(b, uint32(p.Seq)), uint32(p.Ack))
		b = be.AppendUint16(be.AppendUint16(b, t.Window), t.MSS)
		b = append(b, t.Flags, t.Present, t.Scale, t.Blocks)
		b = be.AppendUint32(be.AppendUint32(b, t.TSVal), t.TSEcho)
		for i := range min(int(t.Blocks), len(t.SACK)) {
			b = be.AppendUint32(be.AppendUint32(b, t.SACK[i].Left), t.SACK[i].Right)
		}
	case packet.ProtoUDP:
		b = be.AppendUint64(b, uint64(p.Seq))
	default: // the upper bits of sequence numbers do not travel
		b = append(b, byte(p.Kind), p.TCP.Flags)
		b = be.AppendUint64(b, uint64(p.Seq)<<24)
		b = be.AppendUint64(b, uint64(p.Ack)<<24)
	}
	b = p.AppendExtensions(b, Authentication)
	s.code.Reset()
	s.code.Write(b)
	return s.code.Sum(s.sum[:0])[:codeBytes]
}
