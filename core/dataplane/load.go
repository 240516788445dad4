package dataplane

import "weir/core/unit"

// LinkLoad returns the load that a link of rate r carries in t: bytes, or packets if its rate is in packets/s.
// FrameLoad is a frame's part of it.
func LinkLoad(r unit.LinkRate, t unit.Time) float64 {
	if r.Packets > 0 {
		return float64(r.Packets) * t.Seconds()
	}
	return float64(r.Bits) / 8 * t.Seconds()
}

// FrameLoad returns a frame's part of LinkLoad: its size in bytes, or 1.
func FrameLoad(r unit.LinkRate, size int32) float64 {
	if r.Packets > 0 {
		return 1
	}
	return float64(size)
}
