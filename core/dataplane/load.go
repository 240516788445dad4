package dataplane

import "weir/core/unit"

// Carries returns what a link of rate r carries in t: bytes, or packets where its rate is
// in packets/s. FrameLoad is a frame's part of that.
func Carries(r unit.LinkRate, t unit.Time) float64 {
	if r.Packets > 0 {
		return float64(r.Packets) * t.Seconds()
	}
	return float64(r.Bits) / 8 * t.Seconds()
}

// FrameLoad returns what a frame of size bytes takes of Carries: its bytes, or 1.
func FrameLoad(r unit.LinkRate, size int32) float64 {
	if r.Packets > 0 {
		return 1
	}
	return float64(size)
}
