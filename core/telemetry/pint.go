package telemetry

import (
	"math"

	"weir/core/unit"
)

// PINT is telemetry of constant size (Ben Basat et al., SIGCOMM'20) as HPCC-PINT uses
// it: a packet carries only the largest load of its path, as the exponent of a base. The
// scale goes from 1/512 to 512.
type PINT struct {
	base  float64
	log   float64 // ln base
	bytes int32
	most  uint16 // largest code
}

const pintScale = 512

// NewPINT returns the code with this base, from 1.0002 to 2: 1.05 takes one byte, 1.01
// takes two. It takes ⌈log2(ln 512² / ln base)⌉ bits, of which there are 16.
func NewPINT(base float64) PINT {
	p := PINT{base: base, log: math.Log(base)}
	codes := 2 * math.Log(pintScale) / p.log
	bits := int(math.Ceil(math.Log2(codes)))
	p.bytes = int32(bits+7) / 8
	p.most = uint16(1<<bits - 1)
	return p
}

// Bytes is what a code takes on the wire: 1 or 2.
func (p *PINT) Bytes() int32 { return p.bytes }

// Encode returns the code of load u: log_base⌈512·u⌉, rounded up or down at random so
// that its mean is exact. A load that is no number is the largest.
func (p *PINT) Encode(u float64, r unit.Random) uint16 {
	steps := math.Ceil(u * pintScale)
	if steps <= 1 {
		return 0
	}
	x := math.Log(steps) / p.log
	if !(x < float64(p.most)) {
		return p.most
	}
	code := math.Floor(x)
	if r.Float64() < x-code {
		code++
	}
	return uint16(code)
}

// Decode returns the load of a code: base^code / 512.
func (p *PINT) Decode(code uint16) float64 {
	return math.Exp(float64(min(code, p.most))*p.log) / pintScale
}

// PortLoad is the moving average of a port's load that a PINT switch keeps: the
// normalised bytes in flight of draft-miao §4.2 lines 5 and 9, with the switch's memory
// instead of the sender's. The zero value is a port that was idle.
type PortLoad struct {
	u    float64
	at   unit.Time
	sent unit.Bytes // size of the packet before
}

// Dequeue accounts for a packet that the port begins to send, with the queue behind it, and returns the
// load: (T−dt)/T·U + bytes/(B·T) + dt·queue/(B·T²), where dt is the time since the previous packet, at
// most t, and bytes is that packet's size.
func (l *PortLoad) Dequeue(now unit.Time, size, queue unit.Bytes, rate unit.Rate, t unit.Time) float64 {
	if t > 0 && rate > 0 {
		dt := float64(min(max(now-l.at, 0), t)) / float64(t)
		bdp := float64(rate) * float64(t) / 8e12 // bytes
		l.u = float64((1-dt)*l.u) + float64(l.sent)/bdp + float64(dt*(float64(queue)/bdp))
	}
	l.at, l.sent = now, size
	return l.u
}
