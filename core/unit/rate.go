package unit

import "math/bits"

// Rate is a bit rate in bit/s.
type Rate int64

// Units of Rate.
const (
	BitPerSecond Rate = 1
	Kbps              = 1000 * BitPerSecond
	Mbps              = 1000 * Kbps
	Gbps              = 1000 * Mbps
	Tbps              = 1000 * Gbps
)

// PacketRate is a rate in packets/s, by which the papers' software prototypes limit a port (BMv2's egress rate, P4-ABC
// §5.1: 4170 packets/s).
type PacketRate int64

// LinkRate is the rate of a link or port: in bit/s, or, for ports that imitate
// the papers' prototypes, in packets/s. Exactly one of the two is positive.
type LinkRate struct {
	Bits    Rate
	Packets PacketRate
}

// Bytes is an amount of data in bytes.
type Bytes int64

// Units of Bytes: decimal, as is usual for links and buffers.
const (
	Byte Bytes = 1
	KB         = 1000 * Byte
	MB         = 1000 * KB
	GB         = 1000 * MB
)

// A Serialiser returns the time that frames need on a link, exact for every rate. A frame's end is rounded up to the
// next picosecond, and the difference is carried to the next frame of the same busy period. So n frames back to back
// take ceil(sum of their bits × 10¹² / rate) picoseconds, not a sum of rounded terms. Make one with NewSerialiser; the
// zero value is a link of rate 0.
type Serialiser struct {
	psPerByte int64  // > 0: the rate divides 8·10¹², so no time is rounded
	rate      uint64 // bit/s or packets/s
	credit    uint64 // rounding of this busy period so far: (reported − exact) × rate, in [0, rate)
	packets   bool
}

// NewSerialiser returns a Serialiser for a rate with exactly one positive part. At rate 0 every frame takes Never/2.
func NewSerialiser(r LinkRate) Serialiser {
	if r.Packets > 0 {
		return Serialiser{rate: uint64(r.Packets), packets: true}
	}
	s := Serialiser{rate: uint64(r.Bits)}
	if s.rate > 1 && 8_000_000_000_000%s.rate == 0 { // at 1 bit/s a frame of 1 MB is beyond Never/2
		s.psPerByte = int64(8_000_000_000_000 / s.rate)
	}
	return s
}

// ManyBytes is a number of bytes that may take longer than the range of Time.
const ManyBytes = 1 << 20

// TimePerByte returns the time of a byte, if that is a whole number of picoseconds; else 0. If it is not 0, a frame of
// less than ManyBytes takes its bytes times this value, independent of the frames before it.
func (s *Serialiser) TimePerByte() Time { return Time(s.psPerByte) }

// NextTime returns the time that a frame of size bytes, which is not negative, occupies the link. It is at most
// Never/2, which stands for all longer times. backToBack means that the frame follows its predecessor without a gap. At
// a rate in packets/s the size does not count.
func (s *Serialiser) NextTime(size int32, backToBack bool) Time {
	if s.psPerByte > 0 && size < ManyBytes {
		return Time(int64(size) * s.psPerByte)
	}
	return s.nextRounded(size, backToBack)
}

// nextRounded is NextTime at rates that do not divide 8·10¹² ps. It keeps the rounding of the busy period.
func (s *Serialiser) nextRounded(size int32, backToBack bool) Time {
	if !backToBack {
		s.credit = 0
	}
	hi, lo := uint64(0), uint64(1_000_000_000_000)
	if !s.packets {
		hi, lo = bits.Mul64(uint64(size), 8_000_000_000_000)
	}
	if hi == 0 && lo <= s.credit { // it ends within the picosecond to which its predecessor was rounded up
		s.credit -= lo
		return 0
	}
	// ⌈(work − credit) / rate⌉
	lo, borrow := bits.Sub64(lo, s.credit, 0)
	hi -= borrow
	if hi >= s.rate { // beyond the range of Time
		return Never / 2
	}
	q, rem := bits.Div64(hi, lo, s.rate)
	if q >= uint64(Never/2) {
		return Never / 2
	}
	s.credit = 0
	if rem > 0 {
		q++
		s.credit = s.rate - rem
	}
	return Time(q)
}
