package unit

// Length is a length or a limit of a queue: in packets or in bytes. Exactly one of the two is set, or both are 0 (no
// limit).
type Length struct {
	Packets int32
	Bytes   Bytes
}

// LowerOf returns the lower of the two limits, separately for packets and bytes; 0: no limit.
func (l Length) LowerOf(other Length) Length {
	return Length{lowerLimit(l.Packets, other.Packets), lowerLimit(l.Bytes, other.Bytes)}
}

// lowerLimit returns the lower one of two limits, where 0 is no limit.
func lowerLimit[T Bytes | int32](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Depth is a depth of a queue, for thresholds with the same meaning at every rate: in packets, in bytes, or as the
// time that its port takes to send it. At most one of the three is set.
type Depth struct {
	Packets int32
	Bytes   Bytes
	Time    Time
}

// BytesAt returns the depth in bytes for a port of a rate, in bit/s, with packets of this length in bytes. At rate 0 a
// time counts as 0 bytes.
func (d Depth) BytesAt(rate Rate, packet Bytes) float64 {
	return float64(float64(d.Packets)*float64(packet)) + float64(d.Bytes) + float64(d.Time)*float64(rate)/8e12
}
