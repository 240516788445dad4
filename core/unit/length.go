package unit

// Length is how long a queue is or may be: in packets or in bytes. Exactly one
// of the two is set, or none (no bound).
type Length struct {
	Packets int32
	Bytes   Bytes
}

// Lower returns the lower limit of both, of packets and of bytes each; 0: no limit.
func (l Length) Lower(other Length) Length {
	return Length{lower(l.Packets, other.Packets), lower(l.Bytes, other.Bytes)}
}

// lower returns the lower one of two limits; 0: no limit.
func lower[T Bytes | int32](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Depth is how deep a queue is, for thresholds that are to mean the same at every rate: in packets, in bytes, or
// as the time that its port takes to send it. One of the three is set, or none.
type Depth struct {
	Packets int32
	Bytes   Bytes
	Time    Time
}

// At is the depth in the bytes that a port of a rate, in bit/s, sends meanwhile; packets of so many bytes each.
func (d Depth) At(rate Rate, packet Bytes) float64 {
	return float64(float64(d.Packets)*float64(packet)) + float64(d.Bytes) + float64(d.Time)*float64(rate)/8e12
}
