package fabric

import "weir/core/unit"

// A run is asked to stop before links can have carried so many of the shortest frames: some tenths of a second of
// work at the most, and where frames are longer much less.
const (
	mostFrames    = 1 << 21
	shortestFrame = 64 // bytes
)

// pace finds the stride: where links are long or fast a window can have minutes of work.
func (f *Fabric) pace() {
	frames := 0.0 // a second
	for i := range f.extras {
		r := f.extras[i].rate
		frames += float64(r.Bits)/(8*shortestFrame) + float64(r.Packets)
	}
	f.stride = f.window
	if bound := mostFrames / frames * float64(unit.Second); bound < float64(f.window) {
		f.stride = max(unit.Time(bound), unit.Nanosecond)
	}
}
