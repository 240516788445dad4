package unit

import "math/bits"

// Histogram counts durations in classes whose width is at most 1/64 of the value:
// a percentile that it gives is at most 0.8 % off. Values from 0 to Never are
// counted; the zero Histogram is empty and ready.
type Histogram struct {
	counts []uint64
	n      uint64
}

// subclasses is how many classes each power of two has.
const subclasses = 64

// classOf numbers the class of v: below 2·subclasses each value has its own.
func classOf(v uint64) int {
	if v < 2*subclasses {
		return int(v)
	}
	shift := bits.Len64(v) - bits.Len64(2*subclasses-1)
	return shift*subclasses + int(v>>shift)
}

// bounds are the lowest and the highest value of a class.
func bounds(class int) (low, high uint64) {
	if class < 2*subclasses {
		return uint64(class), uint64(class)
	}
	shift := class/subclasses - 1
	low = uint64(class-shift*subclasses) << shift
	return low, low + 1<<shift - 1
}

// Add counts v, below 0 as 0.
func (h *Histogram) Add(v Time) {
	c := classOf(uint64(max(v, 0)))
	if c >= len(h.counts) {
		h.counts = append(h.counts, make([]uint64, c+1-len(h.counts))...)
	}
	h.counts[c]++
	h.n++
}

// Count returns how many values were added.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile is the middle of the class that the given share, 0 to 1, of the values reach;
// 0 if there are none.
func (h *Histogram) Quantile(share float64) Time {
	sum := uint64(0)
	for _, c := range h.Classes() {
		if sum += c.Count; float64(sum) >= share*float64(h.n) {
			return c.Middle()
		}
	}
	return 0
}

// Reset forgets everything.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.n = 0
}

// Class is the values between Low and High, of which there were Count.
type Class struct {
	Low, High Time
	Count     uint64
}

// Middle is a class's middle, which stands for its values.
func (c Class) Middle() Time { return c.Low + (c.High-c.Low)/2 }

// Classes returns those that are not empty, ascending.
func (h *Histogram) Classes() (out []Class) {
	for i, n := range h.counts {
		if n > 0 {
			low, high := bounds(i)
			out = append(out, Class{Time(low), Time(high), n})
		}
	}
	return out
}
