package telemetry

import (
	"encoding/binary"

	"weir/core/packet"
)

// RelativeLoad is the kind of the extension of format relative, which hides a network's capacity (draft-miao §9.1:
// "only convey the relative ratio"). Its 2 bytes are the largest load of the path (PortLoad) in steps of 1/4096 of the
// port's capacity, rounded to the nearest. 0 means that no switch has written. Larger loads are limited to the largest
// code, just below 16, so that a window is divided by at most 16. The error is at most 1/8192 of the capacity. The
// extension has no rate, byte count, queue, time, switch, port or number of hops. Two networks of different capacities
// with equal loads write the same bytes.
const RelativeLoad uint8 = 0x38

const (
	relativeBytes = 2
	relativeScale = 4096
)

// IsRelative reports whether the format carries loads only and no records. It is false for nil.
func (f *Format) IsRelative() bool { return f != nil && f.codec == codecRelative }

// EncodeRelative returns the code of a load, a share of the port's capacity: 1 (for 0 and below) to 65535 (for 16 and
// above, and NaN).
func EncodeRelative(load float64) uint16 {
	x := float64(load*relativeScale) + 0.5
	if !(x < 1<<16) {
		return 1<<16 - 1
	}
	return max(uint16(max(x, 0)), 1)
}

// DecodeRelative returns the load that a code stands for, as a share of the port's capacity: code/4096, from 0 to just
// below 16. Code 0 (no switch has written) gives 0.
func DecodeRelative(code uint16) float64 { return float64(code) / relativeScale }

// PushRelative writes the load of a hop into p, which requests it, if it is the largest so far.
func (f *Format) PushRelative(p *packet.Packet, load float64) {
	if b, ok := p.Extension(RelativeLoad); ok && len(b) == relativeBytes {
		binary.BigEndian.PutUint16(b, max(binary.BigEndian.Uint16(b), EncodeRelative(load)))
	}
}
