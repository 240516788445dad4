package dataplane

import (
	"math/bits"

	"weir/core/unit"
)

// Colour is the result of a meter.
type Colour uint8

// Colours of RFC 2697 and RFC 2698.
const (
	Green Colour = iota
	Yellow
	Red
)

// String returns "green", "yellow" or "red"; "red" also for any value above Red.
func (c Colour) String() string { return [...]string{"green", "yellow", "red"}[min(c, Red)] }

// bucket holds tokens: bytes, or packets for meters of packet rates.
type bucket struct {
	size, tokens int64
}

// accrual computes exactly the tokens that a rate earns over time. It keeps fractions of a token.
type accrual struct {
	rate  uint64 // tokens per scale ps
	scale uint64
	last  unit.Time
	rest  uint64 // part of a token, in 1/scale
}

// newAccrual returns the accrual of a rate, from time 0: bytes of a bit rate, packets of a packet rate.
func newAccrual(r unit.LinkRate) accrual {
	if r.Packets > 0 {
		return accrual{rate: uint64(r.Packets), scale: 1_000_000_000_000}
	}
	return accrual{rate: uint64(r.Bits), scale: 8_000_000_000_000}
}

// earnSince returns the whole tokens earned since the last call, at most 2⁶² − 1. At a time that is not after the last
// call it returns 0.
func (a *accrual) earnSince(now unit.Time) int64 {
	if now <= a.last {
		return 0
	}
	hi, lo := bits.Mul64(a.rate, uint64(now-a.last))
	a.last = now
	lo, carry := bits.Add64(lo, a.rest, 0)
	hi += carry
	if hi >= a.scale {
		a.rest = 0
		return 1<<62 - 1
	}
	q, rem := bits.Div64(hi, lo, a.scale)
	a.rest = rem
	return int64(min(q, 1<<62-1))
}

// addTokens adds n tokens, 0 or more, up to the bucket's size, and returns the number that did not fit.
func (b *bucket) addTokens(n int64) int64 {
	if free := b.size - b.tokens; n > free {
		b.tokens = b.size
		return n - free
	}
	b.tokens += n
	return 0
}

// takeTokens takes n tokens. If there are fewer, it takes no token and returns false.
func (b *bucket) takeTokens(n int64) bool {
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

// SrTCM is the single rate three colour marker of RFC 2697.
type SrTCM struct {
	committed, excess bucket
	earn              accrual
	packets           bool
}

// NewSrTCM returns a meter with committed information rate CIR, above 0, and the
// burst sizes CBS and EBS: bytes, or packets if the rate is in packets/s. At least
// one of the sizes is above 0 (RFC 2697 §3).
func NewSrTCM(cir unit.LinkRate, cbs, ebs int64) *SrTCM {
	return &SrTCM{bucket{cbs, cbs}, bucket{ebs, ebs}, newAccrual(cir), cir.Packets > 0}
}

// MeterPacket meters a packet of size bytes that arrives at now. arrivalColour is its colour on arrival; Green makes
// the meter colour-blind. It returns Green and takes committed tokens, Yellow and takes excess tokens, or Red and takes
// no tokens.
func (m *SrTCM) MeterPacket(now unit.Time, size int32, arrivalColour Colour) Colour {
	m.excess.addTokens(m.committed.addTokens(m.earn.earnSince(now))) // tokens that C cannot hold go to E
	n := tokenCost(size, m.packets)
	switch {
	case arrivalColour == Green && m.committed.takeTokens(n):
		return Green
	case arrivalColour != Red && m.excess.takeTokens(n):
		return Yellow
	}
	return Red
}

// tokenCost returns the tokens for a packet of size bytes: 1 if the tokens are packets, else its size.
func tokenCost(size int32, packets bool) int64 {
	if packets {
		return 1
	}
	return int64(size)
}

// TrTCM is the two rate three colour marker of RFC 2698.
type TrTCM struct {
	committed, peak         bucket
	earnCommitted, earnPeak accrual
	packets                 bool
}

// NewTrTCM returns a meter with committed and peak information rates (PIR ≥ CIR > 0,
// of the same kind) and their burst sizes, above 0 (RFC 2698 §3): bytes, or packets if
// the rates are in packets/s.
func NewTrTCM(cir unit.LinkRate, cbs int64, pir unit.LinkRate, pbs int64) *TrTCM {
	return &TrTCM{bucket{cbs, cbs}, bucket{pbs, pbs}, newAccrual(cir), newAccrual(pir), cir.Packets > 0}
}

// MeterPacket meters a packet as SrTCM.MeterPacket does. A packet without peak tokens is Red and takes no tokens. One
// without committed tokens is Yellow and takes only peak tokens.
func (m *TrTCM) MeterPacket(now unit.Time, size int32, arrivalColour Colour) Colour {
	m.committed.addTokens(m.earnCommitted.earnSince(now))
	m.peak.addTokens(m.earnPeak.earnSince(now))
	n := tokenCost(size, m.packets)
	switch {
	case arrivalColour == Red || m.peak.tokens < n:
		return Red // tokens stay
	case arrivalColour == Yellow || m.committed.tokens < n:
		m.peak.takeTokens(n)
		return Yellow
	}
	m.peak.takeTokens(n)
	m.committed.takeTokens(n)
	return Green
}
