package telemetry

import "weir/core/unit"

// INT, IOAM and IFA carry neither the number of bytes that a port has sent nor its rate, which HPCC++ needs (draft-miao
// §6.1). Weir's counter carries both in data that those formats leave to a domain. It is one word of 64 bits, the first
// field the most significant:
//
//	44 bits  bytes sent; wraps after 17.6 TB: 23 minutes at 100 Gb/s, 88 s at 1.6 Tb/s
//	4 bits   e
//	16 bits  m: the port's rate is m·10^e bit/s, rounded to the nearest
//
// Rates of up to 16 bits at each power of ten are exact, all others within 1 in 13000. All ones mean that the node has
// neither value.
const (
	counterBits   = 44
	mantissaBits  = 16
	noCounter     = 1<<64 - 1
	counterModulo = 1 << counterBits
)

// encodeCounter returns the word of a port that has sent so many bytes, which it takes modulo 2^44, and has this rate.
func encodeCounter(sent uint64, rate unit.Rate) uint64 {
	m, e := uint64(max(rate, 0)), uint64(0)
	for ten := uint64(10); m >= 1<<mantissaBits; ten *= 10 {
		m = (uint64(rate) + ten/2) / ten
		e++
	}
	return sent<<(64-counterBits) | e<<mantissaBits | m
}

// decodeCounter decodes the word. A rate of 0 means that the word has no counter.
func decodeCounter(w uint64) (sent uint64, rate unit.Rate) {
	if w == noCounter {
		return 0, 0
	}
	r := int64(w & (1<<mantissaBits - 1))
	for range w >> mantissaBits & 15 {
		r *= 10
	}
	return w >> (64 - counterBits), max(unit.Rate(r), 0)
}

// floorNanoseconds converts a time to whole nanoseconds, rounded down.
func floorNanoseconds(t unit.Time) int64 {
	ns := int64(t / unit.Nanosecond)
	if t%unit.Nanosecond < 0 {
		ns--
	}
	return ns
}

// saturate32 limits v to the range of a 32-bit field in which all ones mean that the value is unavailable.
func saturate32(v int64) uint32 { return uint32(min(max(v, 0), 1<<32-2)) }

const unavailable = 1<<32 - 1
