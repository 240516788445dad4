package fabric

import "weir/core/unit"

// The fabric calls stop after each stride. A stride is at most a window. It is so short that links carry at most
// maxFrames of the shortest frames in it: some tenths of a second of work, and less with longer frames.
//
// Each stride reads the clock of every group, and all wires of a group with events. In a network with thousands of
// lightly loaded links this costs more than the events. While a stride has fewer events than the network has links,
// the stride therefore grows, to at most that length times the number of links over linksPerLength.
const (
	maxFrames      = 1 << 21
	shortestFrame  = 64 // bytes
	linksPerLength = 64
)

// limitStride sets the limits of the stride from the rates of all links. With long delays or fast links a window can
// have minutes of work. It brings the current stride into these limits.
func (f *Fabric) limitStride() {
	frames := 0.0 // a second
	for i := range f.extras {
		r := f.extras[i].rate
		frames += float64(r.Bits)/(8*shortestFrame) + float64(r.Packets)
	}
	limit := func(frameCount float64) unit.Time {
		if bound := frameCount / frames * float64(unit.Second); bound < float64(f.window) {
			return max(unit.Time(bound), unit.Nanosecond)
		}
		return f.window
	}
	f.minStride = limit(maxFrames)
	f.maxStride = limit(maxFrames * max(1, float64(len(f.extras))/linksPerLength))
	f.stride = min(max(f.stride, f.minStride), f.maxStride)
}

// adaptInterval sets the length of the next stride after one that began when eventsBefore events had been run. It
// returns their number at its end. The number does not depend on the division into parts, so neither does the stride.
func (f *Fabric) adaptInterval(eventsBefore uint64) (events uint64) {
	events = f.CountEvents()
	switch links := uint64(len(f.extras)); {
	case events-eventsBefore < links:
		f.stride = min(2*f.stride, f.maxStride)
	case events-eventsBefore > 4*links:
		f.stride = max(f.stride/2, f.minStride)
	}
	return events
}
