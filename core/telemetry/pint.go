package telemetry

import (
	"math"

	"weir/core/unit"
)

// PINT is telemetry of constant size (Ben Basat et al., SIGCOMM'20) as HPCC-PINT uses it. A packet carries only the
// largest load of its path, as the exponent of a base. The scale ranges from 1/512 to 512.
type PINT struct {
	base    float64
	logBase float64 // ln base
	bytes   int32
	maxCode uint16 // largest code
}

const pintScale = 512

// NewPINT returns the code with this base, from 1.0002 to 2: base 1.05 takes one byte, 1.01 takes two. The code takes
// ⌈log2(ln 512² / ln base)⌉ bits, at most 16.
func NewPINT(base float64) PINT {
	p := PINT{base: base, logBase: math.Log(base)}
	codes := 2 * math.Log(pintScale) / p.logBase
	bits := int(math.Ceil(math.Log2(codes)))
	p.bytes = int32(bits+7) / 8
	p.maxCode = uint16(1<<bits - 1)
	return p
}

// Bytes returns the length of a code on the wire: 1 or 2.
func (p *PINT) Bytes() int32 { return p.bytes }

// Encode returns the code of load u, a share of the capacity: log_base⌈512·u⌉, rounded up or down at random so that its
// mean is exact. NaN gets the largest code. It takes at most one random number.
func (p *PINT) Encode(u float64, r unit.Random) uint16 {
	steps := math.Ceil(u * pintScale)
	if steps <= 1 {
		return 0
	}
	x := math.Log(steps) / p.logBase
	if !(x < float64(p.maxCode)) {
		return p.maxCode
	}
	code := math.Floor(x)
	if r.Float64() < x-code {
		code++
	}
	return uint16(code)
}

// Decode returns the load of a code as a share of the port's capacity: base^code / 512. A code above the largest gives
// the largest load.
func (p *PINT) Decode(code uint16) float64 {
	return math.Exp(float64(min(code, p.maxCode))*p.logBase) / pintScale
}

// PortLoad is the moving average of a port's load that a PINT switch keeps. It is the normalised bytes in flight of
// draft-miao §4.2 lines 5 and 9, with the switch's memory instead of the sender's. The zero value is a port that was
// idle.
type PortLoad struct {
	load     float64
	lastTime unit.Time
	lastSize unit.Bytes // size of the previous packet
}

// Dequeue accounts for a packet of size bytes that the port begins to send, with the queue behind it in bytes, and
// returns the load: (T−dt)/T·U + bytes/(B·T) + dt·queue/(B·T²), where dt is the time since the previous packet, at most
// t, and bytes is that packet's size. With t or rate 0 the load stays as it is.
func (l *PortLoad) Dequeue(now unit.Time, size, queue unit.Bytes, rate unit.Rate, t unit.Time) float64 {
	if t > 0 && rate > 0 {
		dt := float64(min(max(now-l.lastTime, 0), t)) / float64(t)
		bdp := float64(rate) * float64(t) / 8e12 // bytes
		l.load = float64((1-dt)*l.load) + float64(l.lastSize)/bdp + float64(dt*(float64(queue)/bdp))
	}
	l.lastTime, l.lastSize = now, size
	return l.load
}
