package telemetry

import (
	"encoding/binary"

	"weir/core/packet"
)

// RelativeLoad is the kind of the extension of format relative, which hides a network's
// capacity (draft-miao §9.1: "only convey the relative ratio"). Its 2 bytes are the
// largest load of the path, PortLoad's, in steps of 1/4096 of the port's capacity, rounded
// to the nearest; 0: no switch has written. What is above stands as the largest, just below
// 16; then a window is divided by 16, not by more. The error is at most 1/8192 of the
// capacity, 0.013 % of U at the target. There is no rate, count of bytes, queue, time,
// switch, port nor number of hops in it, and so two networks of other capacities that
// are loaded alike write the same bytes.
const RelativeLoad uint8 = 0x38

const (
	relativeBytes = 2
	relativeScale = 4096
)

// Relative reports whether the format carries loads only, no records; also of nil.
func (f *Format) Relative() bool { return f != nil && f.codec == codecRelative }

// EncodeRelative returns the code of a load, from 1 to 65535; NaN gets the largest.
func EncodeRelative(load float64) uint16 {
	x := float64(load*relativeScale) + 0.5
	if !(x < 1<<16) {
		return 1<<16 - 1
	}
	return max(uint16(max(x, 0)), 1)
}

// DecodeRelative returns the load of a code.
func DecodeRelative(code uint16) float64 { return float64(code) / relativeScale }

// PushRelative writes the load of a hop into p, which wants it, if it is the largest so far.
func (f *Format) PushRelative(p *packet.Packet, load float64) {
	if b, ok := p.Extension(RelativeLoad); ok && len(b) == relativeBytes {
		binary.BigEndian.PutUint16(b, max(binary.BigEndian.Uint16(b), EncodeRelative(load)))
	}
}
