package packet

import (
	"errors"
	"fmt"
)

// TCPOptions are the options that end hosts use; nil or zero means absent.
type TCPOptions struct {
	MSS           uint16 // RFC 9293 §3.7.1
	WindowScale   int8   // RFC 7323 §2: shift, 0 … 14; −1: absent
	SACKPermitted bool   // RFC 2018 §2
	Timestamps    bool   // RFC 7323 §3
	TSVal, TSEcr  uint32
	SACK          [4][2]uint32 // RFC 2018 §3: left and right edge
	SACKBlocks    int
	unknown       [40]byte
	unknownLen    uint8
}

// Unknown returns the options of other kinds, one after the other in wire form, as a view.
func (o *TCPOptions) Unknown() []byte { return o.unknown[:o.unknownLen:o.unknownLen] }

var errOption = errors.New("TCP options: an option's length is wrong")

// parseTCPOptions parses options, at most the 40 bytes that a header can have. Unknown options are stored in wire
// form.
func parseTCPOptions(b []byte) (TCPOptions, error) {
	o := TCPOptions{WindowScale: -1}
	if len(b) > len(o.unknown) {
		return o, fmt.Errorf("TCP options: %d bytes; allowed: at most 40", len(b))
	}
	if len(b) == 12 && be.Uint32(b) == 0x0101080a { // a segment with timestamps only, as RFC 7323 appendix A has it
		o.Timestamps, o.TSVal, o.TSEcr = true, be.Uint32(b[4:]), be.Uint32(b[8:])
		return o, nil
	}
	for len(b) > 0 {
		switch b[0] {
		case 0: // end of options
			return o, nil
		case 1: // no-operation
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return o, errOption
		}
		v := b[2:b[1]]
		switch kind := b[0]; {
		case kind == 2 && len(v) == 2:
			o.MSS = be.Uint16(v)
		case kind == 3 && len(v) == 1:
			o.WindowScale = int8(min(v[0], 14)) // larger ones count as 14 (RFC 7323 §2.3)
		case kind == 4 && len(v) == 0:
			o.SACKPermitted = true
		case kind == 5 && len(v) > 0 && len(v)%8 == 0 && len(v) <= 32:
			o.SACKBlocks = len(v) / 8
			for i := range o.SACKBlocks {
				o.SACK[i] = [2]uint32{be.Uint32(v[8*i:]), be.Uint32(v[8*i+4:])}
			}
		case kind == 8 && len(v) == 8:
			o.Timestamps, o.TSVal, o.TSEcr = true, be.Uint32(v), be.Uint32(v[4:])
		case kind >= 2 && kind <= 5 || kind == 8:
			return o, errOption
		default:
			o.unknownLen += uint8(copy(o.unknown[o.unknownLen:], b[:b[1]]))
		}
		b = b[b[1]:]
	}
	return o, nil
}

// Append appends the options in wire form, in the order and with the padding of Linux, unknown ones last, to a
// multiple of four bytes. It omits the padding between them if the result would exceed a header's 40 bytes.
func (o TCPOptions) Append(b []byte) []byte {
	at := len(b)
	if b = o.appendOptions(b, true); len(b)-at > 40 {
		b = o.appendOptions(b[:at], false)
	}
	for (len(b)-at)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendOptions appends the options; aligned: with no-operations between them.
func (o *TCPOptions) appendOptions(b []byte, aligned bool) []byte {
	pad := func(n int) {
		if aligned {
			b = append(b, []byte{1, 1}[:n]...)
		}
	}
	if o.MSS > 0 {
		b = be.AppendUint16(append(b, 2, 4), o.MSS)
	}
	if o.SACKPermitted {
		if !o.Timestamps { // else the two of them share a word
			pad(2)
		}
		b = append(b, 4, 2)
	}
	if o.Timestamps {
		if !o.SACKPermitted {
			pad(2)
		}
		b = append(b, 8, 10)
		b = be.AppendUint32(be.AppendUint32(b, o.TSVal), o.TSEcr)
	}
	if o.WindowScale >= 0 {
		pad(1)
		b = append(b, 3, 3, uint8(o.WindowScale))
	}
	if o.SACKBlocks > 0 {
		pad(2)
		b = append(b, 5, uint8(2+8*o.SACKBlocks))
		for _, s := range o.SACK[:o.SACKBlocks] {
			b = be.AppendUint32(be.AppendUint32(b, s[0]), s[1])
		}
	}
	return append(b, o.Unknown()...)
}
