package fabric

import "weir/core/unit"

// The fabric asks stop after each stride. A stride is at most a window, and so short that links cannot carry more than
// maxFrames of the shortest frames in it: some tenths of a second of work, and less where frames are longer.
//
// Each stride reads the clock of every group, and all wires of a group with events. In a network of thousands of links
// that carry far less than they can, this costs more than the events. There a stride grows to as many times that length
// as the network has linksPerLength links, while it has fewer events than the network has links.
const (
	maxFrames      = 1 << 21
	shortestFrame  = 64 // bytes
	linksPerLength = 64
)

// pace finds the limits of the stride from the rates of all links: where links are long or fast, a window can have
// minutes of work.
func (f *Fabric) pace() {
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

// adaptInterval sets the length of the next stride after one that began when a number of events had been run. It
// returns their number at its end. The number does not depend on the division into parts, so neither does the stride.
func (f *Fabric) adaptInterval(before uint64) (events uint64) {
	events = f.Events()
	switch links := uint64(len(f.extras)); {
	case events-before < links:
		f.stride = min(2*f.stride, f.maxStride)
	case events-before > 4*links:
		f.stride = max(f.stride/2, f.minStride)
	}
	return events
}
