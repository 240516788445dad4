package telemetry

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"weir/core/unit"
)

// HPCC is the telemetry header of the HPCC paper (§4.1, figure 7) and of its simulator: 42 bytes on every packet, on
// paths of any length. Bits are in network order, the first named is the most significant:
//
//	2 bytes      nHop 4 | pathID 12
//	5 × 8 bytes  rate code 3 | time 24 | bytes 20 | queue 17     hop 1 first
//
// time is in nanoseconds and wraps after 16.8 ms. bytes is TxBytes in units of 128 B × Multi and wraps after 134 MB ×
// Multi. queue is in units of 80 B × Multi; its largest value stands for all longer queues. (The simulator lets it
// wrap: a long queue then reads as a short one.) All values are rounded down. pathID is the XOR of the switches' low
// 12 bits, and of their ports' where only congested hops write records (IfCongested). Switch, Port and Sojourn are not
// carried.
//
// A hop that finds all five places taken is counted in nHop, up to 15, and enters pathID, but writes no record. Places
// so keep their hops: the sender can compare by place, knows the number of missing hops, and detects a path change
// behind the fifth hop. (The simulator continues at the first place.)
//
// The paper does not define the order of bits. The simulator uses the order of C bit fields on a little-endian
// machine, from the least significant bit, and has no pathID.
type HPCC struct {
	Multi int64        // multiplier of units: the simulator takes the NIC's rate / 25 Gb/s; at least 1
	Rates [8]unit.Rate // by rate code; 0: not used
}

// Sizes of HPCC's header.
const (
	HPCCBytes = 42
	HPCCHops  = 5

	hpccTimeBits  = 24
	hpccBytesBits = 20
	hpccQueueBits = 17
	hpccBytesUnit = 128
	hpccQueueUnit = 80
	maxHPCCHops   = 15 // maximum of nHop
)

// NewHPCC returns the format with the simulator's rate codes: 25, 50, 100, 200 and
// 400 Gb/s. multi is from 1 to 65536.
func NewHPCC(multi int64) HPCC {
	return HPCC{Multi: multi, Rates: [8]unit.Rate{25 * unit.Gbps, 50 * unit.Gbps, 100 * unit.Gbps, 200 * unit.Gbps,
		400 * unit.Gbps}}
}

// RateCode returns the code of a port's rate; false if the format has no code for it. A switch looks up each port's
// code once, when it is built.
func (f *HPCC) RateCode(r unit.Rate) (uint8, bool) {
	for i, have := range f.Rates {
		if have == r && r > 0 {
			return uint8(i), true
		}
	}
	return 0, false
}

// MaxMulti returns the largest Multi that is fine enough for a network whose slowest links have this rate. The unit
// of sent bytes may take no longer than 128 B at 25 Gb/s, as in the simulator, and may not exceed a packet (of 1 kB).
// With a larger unit the counter moves by 0 or too much between two packets of a flow. Line 6 of the draft takes the
// maximum over hops, so it would take their largest error (weir/papers/hpcc).
func MaxMulti(slowest unit.Rate) int64 {
	return min(max(int64(slowest/(25*unit.Gbps)), 1), 1024/hpccBytesUnit)
}

// WrapSpan returns the time and the number of bytes after which the format's fields wrap.
func (f *HPCC) WrapSpan() Wraparound {
	return Wraparound{Time: unit.Nanosecond << hpccTimeBits, Bytes: uint64(f.Multi) * hpccBytesUnit << hpccBytesBits}
}

// Push writes a hop into a header, in place, as a switch does. A header of zeros is an empty one. It returns false if
// no record was written. Either all places are taken, and the hop is only counted; or b is too short or the rate has
// no code, and b is unchanged.
func (f *HPCC) Push(b []byte, h *Hop) bool {
	code, ok := f.RateCode(h.Rate)
	return ok && f.PushCode(b, code, h)
}

// PushCode is Push for a hop whose rate has this code.
func (f *HPCC) PushCode(b []byte, code uint8, h *Hop) bool {
	return f.PutFields(b, code, h.Switch, h.Time, h.TxBytes, h.Queue)
}

// PutFields is PushCode with the values of the record as arguments, which stay in registers: filling and reading a Hop
// would cost as much as the record itself. stamp is the time of the record, sent its TxBytes.
func (f *HPCC) PutFields(b []byte, code uint8, id uint32, stamp unit.Time, sent uint64, queue unit.Bytes) bool {
	if len(b) < HPCCBytes {
		return false
	}
	head := binary.BigEndian.Uint16(b)
	n := head >> PathBits
	path := (head ^ uint16(id)) & (1<<PathBits - 1)
	binary.BigEndian.PutUint16(b, min(n+1, maxHPCCHops)<<PathBits|path)
	if n >= HPCCHops {
		return false
	}
	ns := stamp / unit.Nanosecond
	if stamp < 0 && stamp%unit.Nanosecond != 0 {
		ns--
	}
	if sent /= hpccBytesUnit; f.Multi&(f.Multi-1) == 0 {
		sent >>= uint(bits.TrailingZeros64(uint64(f.Multi))) & 63
	} else {
		sent /= uint64(f.Multi)
	}
	units := uint64(0)
	if one := unit.Bytes(hpccQueueUnit * f.Multi); queue >= one {
		units = uint64(min(queue/one, 1<<hpccQueueBits-1))
	}
	binary.BigEndian.PutUint64(b[2+8*n:], uint64(code)<<61|uint64(ns)&(1<<hpccTimeBits-1)<<37|
		sent&(1<<hpccBytesBits-1)<<17|units)
	return true
}

// Decode replaces the content of r by the header in b. Hops beyond r's room and beyond the header's five count as
// missed. It is an error if b is too short or a rate code is unused; r is then empty.
func (f *HPCC) Decode(b []byte, r *Records) error {
	r.Reset()
	if len(b) < HPCCBytes {
		return fmt.Errorf("HPCC's telemetry: needs %d bytes, there are %d", HPCCBytes, len(b))
	}
	head := binary.BigEndian.Uint16(b)
	n := int(head >> PathBits)
	room, written := (*[HPCCBytes]byte)(b), min(n, HPCCHops)
	bytesUnit, queueUnit := uint64(hpccBytesUnit*f.Multi), unit.Bytes(hpccQueueUnit*f.Multi)
	for i := range r.hops[:written] {
		w := binary.BigEndian.Uint64(room[2+8*i:])
		rate := f.Rates[w>>61]
		if rate <= 0 {
			return fmt.Errorf("HPCC's telemetry: hop %d has rate code %d, which is not used", i+1, w>>61)
		}
		h := &r.hops[i]
		h.Rate = rate
		h.Time = unit.Time(w>>37&(1<<hpccTimeBits-1)) * unit.Nanosecond
		h.TxBytes = w >> 17 & (1<<hpccBytesBits - 1) * bytesUnit
		h.Queue = unit.Bytes(w&(1<<hpccQueueBits-1)) * queueUnit
		h.Sojourn, h.Switch, h.Port, h.Flags = 0, 0, 0, NoSwitch|NoSojourn
	}
	r.n, r.missed = uint8(written), uint8(n-written)
	r.path = head & (1<<PathBits - 1)
	return nil
}
