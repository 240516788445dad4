package unit

import (
	"encoding/json"
	"fmt"
	"math/bits"
)

// Histogram counts durations in classes with a width of at most 1/64 of the value, so a percentile is at most 0.8 %
// off. It counts values from 0 to Never. The zero Histogram is empty and ready.
type Histogram struct {
	counts []uint64
	n      uint64
}

// subclasses is the number of classes of each power of two.
const subclasses = 64

// classOf returns the class of v. Each value below 2·subclasses has its own.
func classOf(v uint64) int {
	if v < 2*subclasses {
		return int(v)
	}
	shift := bits.Len64(v) - bits.Len64(2*subclasses-1)
	return shift*subclasses + int(v>>shift)
}

// classBounds returns the lowest and the highest value of a class.
func classBounds(class int) (low, high uint64) {
	if class < 2*subclasses {
		return uint64(class), uint64(class)
	}
	shift := class/subclasses - 1
	low = uint64(class-shift*subclasses) << shift
	return low, low + 1<<shift - 1
}

// Add counts v; negative values count as 0.
func (h *Histogram) Add(v Time) {
	c := classOf(uint64(max(v, 0)))
	if c >= len(h.counts) {
		h.counts = append(h.counts, make([]uint64, c+1-len(h.counts))...)
	}
	h.counts[c]++
	h.n++
}

// Merge adds all values of another histogram to h. o stays as it is.
func (h *Histogram) Merge(o *Histogram) {
	if len(o.counts) > len(h.counts) {
		h.counts = append(h.counts, make([]uint64, len(o.counts)-len(h.counts))...)
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
}

// AddRepeated adds n times the values that were added between two states of one histogram, first and last. first is the
// earlier state.
func (h *Histogram) AddRepeated(n uint64, first, last *Histogram) {
	if len(last.counts) > len(h.counts) {
		h.counts = append(h.counts, make([]uint64, len(last.counts)-len(h.counts))...)
	}
	for i, k := range last.counts {
		if i < len(first.counts) {
			k -= first.counts[i]
		}
		h.counts[i] += n * k
	}
	h.n += n * (last.n - first.n)
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the middle of the class that the given share, 0 to 1, of the values reach; 0 for an empty
// histogram.
func (h *Histogram) Quantile(share float64) Time {
	sum := uint64(0)
	for _, c := range h.Classes() {
		if sum += c.Count; float64(sum) >= share*float64(h.n) {
			return c.Middle()
		}
	}
	return 0
}

// Sum returns the sum of all values in seconds, each as its class's middle.
func (h *Histogram) Sum() (seconds float64) {
	for i, n := range h.counts {
		if n > 0 {
			low, high := classBounds(i)
			seconds += float64(float64(n) * Time(low+(high-low)/2).Seconds())
		}
	}
	return seconds
}

// Reset removes all values.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.n = 0
}

// Bin is a bin of a histogram: Count values between Low and High.
type Bin struct {
	Low, High Time
	Count     uint64
}

// Middle returns the middle of the class, which stands for its values.
func (c Bin) Middle() Time { return c.Low + (c.High-c.Low)/2 }

// CountUpTo fills counts with the numbers of values that are at most each of limits, which ascend. All values of a
// class count as its middle. counts must be as long as limits.
func (h *Histogram) CountUpTo(limits []Time, counts []uint64) {
	sum, k := uint64(0), 0
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		low, high := classBounds(i)
		for middle := Time(low + (high-low)/2); k < len(limits) && limits[k] < middle; k++ {
			counts[k] = sum
		}
		sum += n
	}
	for ; k < len(limits); k++ {
		counts[k] = sum
	}
}

// Classes returns the classes that are not empty, ascending, in a new slice.
func (h *Histogram) Classes() (out []Bin) {
	for i, n := range h.counts {
		if n > 0 {
			low, high := classBounds(i)
			out = append(out, Bin{Time(low), Time(high), n})
		}
	}
	return out
}

// MarshalJSON writes the classes that are not empty: [[lowest value in ps, count], …].
func (h *Histogram) MarshalJSON() ([]byte, error) {
	out := make([][2]uint64, 0)
	for _, c := range h.Classes() {
		out = append(out, [2]uint64{uint64(c.Low), c.Count})
	}
	return json.Marshal(out)
}

// UnmarshalJSON replaces the content by one in the form of MarshalJSON. It returns an error for a value or a sum of
// counts that is out of range; then the content may be incomplete.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var classes [][2]uint64
	if err := json.Unmarshal(b, &classes); err != nil {
		return err
	}
	h.counts, h.n = nil, 0
	for _, c := range classes {
		if c[0] > uint64(Never) || h.n+c[1] < h.n {
			return fmt.Errorf("histogram: %d times %d ps", c[1], c[0])
		}
		i := classOf(c[0])
		if i >= len(h.counts) {
			h.counts = append(h.counts, make([]uint64, i+1-len(h.counts))...)
		}
		h.counts[i] += c[1]
		h.n += c[1]
	}
	return nil
}
