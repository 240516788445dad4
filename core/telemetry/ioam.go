package telemetry

import (
	"encoding/binary"

	"weir/core/packet"
	"weir/core/unit"
)

// IOAM is the pre-allocated trace of RFC 9197 §4.4, in an IPv6 hop-by-hop option (RFC 9486 §3, packet.HopByHop). The
// option's data are:
//
//	2 bytes  reserved; IOAM option type 0
//	8 bytes  namespace 16; node length 5 in words, flags O, L, A and one more 4, remaining length 7 in
//	         words; trace type 24, reserved 8
//	then room for the records of all hops, which is filled from the end
//
// Weir's packets request hop limit and node ID (bit 0, 8 + 24), ports (bit 1, 16 + 16), seconds and fraction (bits 2
// and 3, 32 each), and queue depth (bit 6, 32, in bytes). The fraction is in nanoseconds (PTP, RFC 9197 §5.1) or, with
// Format.Microseconds, in microseconds (POSIX, RFC 9197 §5.3, as in Linux). Where sojourn is on, they request the
// transit delay (bit 4: overflow 1, nanoseconds 31). The namespace's own wide data (bit 10, 64) are the counter in
// IOAMNamespace.
//
// Format ioam-gafni has bits 12 and 13 in place of the wide data (draft-gafni-ippm-ioam-additional-data-fields-00).
// Bit 12 is bytes sent, 32 bits, which wrap after 4.3 GB (0.34 s at 100 Gb/s, 21 ms at 1.6 Tb/s). Bit 13 is the link's
// speed, 6 bits, and errors, 26. The draft has no codes of speeds, so the codes are Weir's (Format.rates). A record
// has 28 bytes in both formats, or 32 with the delay.
//
// Seconds are signed: a clock may start before 0. They wrap after 136 years. A node that finds no room sets O; once O
// is set, nodes add no records. An option has at most 255 bytes: 8 hops, or 7.
const (
	IOAMNamespace uint16 = 0x57

	ioamHeader    = 2 + 8
	ioamO         = 1 << 10 // overflow, among node length, flags and remaining length
	ioamOpaque    = 22      // bit of the opaque state snapshot, which the node length does not include
	ioamTraceType = 1<<23 | 1<<22 | 1<<21 | 1<<20 | 1<<17
	ioamDelay     = 1 << 19
	ioamWide      = 1 << 13
	ioamGafni     = 1<<11 | 1<<10
	maxIOAMDelay  = 1<<31 - 1
	speedErrors   = 26 // bits
	unknownSpeed  = 1<<6 - 1
)

// ioamWords returns the number of words, of 4 bytes each, that a bit of the trace type, 0 to 21, requests.
func ioamWords(bit int) int {
	if bit >= 8 && bit <= 10 {
		return 2
	}
	return 1
}

// nodeWords returns the number of words that a trace type requests in all.
func nodeWords(kind uint32) (n int) {
	for bit := range ioamOpaque {
		if kind>>(23-bit)&1 == 1 {
			n += ioamWords(bit)
		}
	}
	return n
}

// ioamType returns the trace type of packets that request telemetry.
func (f *Format) ioamType() uint32 {
	kind := uint32(ioamTraceType | ioamWide)
	if f.gafni {
		kind = ioamTraceType | ioamGafni
	}
	if f.Sojourn {
		kind |= ioamDelay
	}
	return kind
}

// openIOAM appends the option's data of a packet that requests telemetry.
func (f *Format) openIOAM(b []byte) []byte {
	be, kind := binary.BigEndian, f.ioamType()
	words := nodeWords(kind)
	b = be.AppendUint16(append(b, 0, 0), IOAMNamespace)
	b = be.AppendUint16(b, uint16(words<<11|words*f.Hops))
	b = be.AppendUint32(b, kind<<8)
	return append(b, zeros[:4*words*f.Hops]...)
}

// pushIOAM writes the record that the trace type requests into p's stack. It returns false if it adds no record;
// without room it then sets O.
func (f *Format) pushIOAM(p *packet.Packet, h *Hop) bool {
	be, b := binary.BigEndian, p.Stack()
	if len(b) < ioamHeader || be.Uint16(b[2:]) != IOAMNamespace {
		return false // a node does not change data of a namespace that it does not belong to
	}
	head, kind := be.Uint16(b[4:]), be.Uint32(b[6:])>>8
	words, left := int(head>>11), int(head&127)
	need := words
	if kind>>(23-ioamOpaque)&1 == 1 {
		need++
	}
	switch {
	case head&ioamO != 0 || words != nodeWords(kind) || ioamHeader+4*left > len(b):
		return false
	case left < need || left == 0:
		be.PutUint16(b[4:], head|ioamO)
		return false
	}
	left -= need
	f.writeIOAM(b[ioamHeader+4*left:][:4*need:4*need], kind, p, h)
	be.PutUint16(b[4:], head&^127|uint16(left))
	return true
}

// writeIOAM fills x with the values that the trace type kind requests. Values that the node does not have are all
// ones.
func (f *Format) writeIOAM(x []byte, kind uint32, p *packet.Packet, h *Hop) {
	be, to := binary.BigEndian, x[:0]
	ns := floorNanoseconds(h.Time)
	sec := ns / 1e9
	if ns -= sec * 1e9; ns < 0 {
		sec, ns = sec-1, ns+1e9
	}
	for bit := range ioamOpaque {
		if kind>>(23-bit)&1 == 0 {
			continue
		}
		switch {
		case bit == 0:
			to = be.AppendUint32(to, uint32(p.HopLimit)<<24|h.Switch&(1<<24-1))
		case bit == 1:
			to = be.AppendUint16(be.AppendUint16(to, uint16(p.Meta.In)), h.Port)
		case bit == 2:
			to = be.AppendUint32(to, uint32(sec))
		case bit == 3:
			if f.Microseconds {
				ns /= 1000
			}
			to = be.AppendUint32(to, uint32(ns))
		case bit == 4:
			to = be.AppendUint32(to, transitDelay(floorNanoseconds(h.Sojourn)))
		case bit == 6:
			to = be.AppendUint32(to, saturate32(int64(h.Queue)))
		case bit == 8:
			to = be.AppendUint64(to, uint64(p.HopLimit)<<56|uint64(h.Switch))
		case bit == 9:
			to = be.AppendUint32(be.AppendUint32(to, uint32(p.Meta.In)), uint32(h.Port))
		case bit == 10:
			to = be.AppendUint64(to, encodeCounter(h.TxBytes, h.Rate))
		case bit == 12 && f.gafni:
			to = be.AppendUint32(to, uint32(h.TxBytes))
		case bit == 13 && f.gafni:
			to = be.AppendUint32(to, uint32(f.speedCode(h.Rate, unknownSpeed))<<speedErrors)
		default:
			to = be.AppendUint32(to, unavailable)
		}
	}
	if len(to) < len(x) { // a snapshot without length and schema
		be.AppendUint32(to, 1<<24-1)
	}
}

// transitDelay returns the field of the transit delay, with the overflow bit set where the delay does not fit (RFC
// 9197 §4.4.2.5).
func transitDelay(ns int64) uint32 {
	if ns > maxIOAMDelay {
		return 1 << 31
	}
	return uint32(max(ns, 0))
}

// readIOAM reads a trace into r. It returns false for a damaged one; r is then empty.
func (f *Format) readIOAM(b []byte, r *Records) bool {
	r.Reset()
	if len(b) < ioamHeader || b[1] != 0 {
		return false
	}
	be := binary.BigEndian
	head, kind := be.Uint16(b[4:]), be.Uint32(b[6:])>>8
	words := int(head >> 11)
	x := b[ioamHeader:]
	if words == 0 || words != nodeWords(kind) || 4*int(head&127) > len(x) {
		return false
	}
	x = x[4*int(head&127):]
	var starts [128]uint16 // newest first
	n := 0
	for ; len(x) > 0; n++ {
		need := 4 * words
		if kind>>(23-ioamOpaque)&1 == 1 && len(x) >= need+4 {
			need += 4 + 4*int(x[need])
		}
		if len(x) < need || n == len(starts) {
			return false
		}
		starts[n] = uint16(len(b) - len(x))
		x = x[need:]
	}
	ours := be.Uint16(b[2:]) == IOAMNamespace
	for ; n > 0; n-- {
		var h Hop
		f.decodeIOAM(b[starts[n-1]:], kind, ours, &h)
		r.Append(&h)
	}
	if head&ioamO != 0 {
		r.missed = max(r.missed, 1) // the number is not recorded
	}
	return true
}

// decodeIOAM decodes the record at the start of x into h, which must be zero. The argument ours reports whether the
// namespace is IOAMNamespace. A hop that lacks one of the laws' fields gets rate 0.
func (f *Format) decodeIOAM(x []byte, kind uint32, ours bool, h *Hop) {
	be, known := binary.BigEndian, ours
	h.Flags = NoSojourn
	if kind>>23 == 0 {
		h.Flags |= NoSwitch
	}
	for bit := range ioamOpaque {
		if kind>>(23-bit)&1 == 0 {
			continue
		}
		switch v := be.Uint32(x); {
		case bit == 0:
			h.Switch = v & (1<<24 - 1)
		case bit == 1:
			h.Port = uint16(v)
		case bit == 2:
			h.Time += unit.Time(int32(v)) * unit.Second // all ones can be the second before 0
		case bit == 3:
			at := unit.Time(v) * unit.Nanosecond
			if f.Microseconds {
				at *= 1000
			}
			h.Time += at
			known = known && v != unavailable
		case bit == 4 && v != unavailable:
			h.Sojourn, h.Flags = unit.Time(v&maxIOAMDelay)*unit.Nanosecond, h.Flags&^NoSojourn
			if v>>31 == 1 {
				h.Sojourn = maxIOAMDelay * unit.Nanosecond
			}
		case bit == 6:
			h.Queue, known = unit.Bytes(v), known && v != unavailable
		case bit == 10:
			h.TxBytes, h.Rate = decodeCounter(be.Uint64(x))
		case bit == 12 && f.gafni:
			h.TxBytes = uint64(v)
		case bit == 13 && f.gafni:
			h.Rate = f.rates[v>>speedErrors]
		}
		x = x[4*ioamWords(bit):]
	}
	if !known {
		h.Rate = 0
	}
}
