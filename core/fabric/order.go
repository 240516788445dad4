package fabric

import (
	"math/bits"
	"slices"
)

// order is room for keys, and to bring them into order. Arrivals are spread over their window nearly evenly. So each
// goes into one of as many bins by its leading bits, and then lies at its place or close to it: 47 instructions a hop
// at 1,024 hosts, where to merge the wires' runs two by two took 95, and half the time.
type order struct {
	keys, ordered []uint64
	bins          []uint32
}

// mostInBin is how many keys may share a bin. More than these, as those that come at one moment, are sorted as if
// nothing was known of them: then neighbours are too many for an insertion sort.
const mostInBin = 16

// room returns room for n keys, until the next call.
func (o *order) room(n int) []uint64 {
	if len(o.keys) < n {
		o.keys, o.ordered = make([]uint64, 2*n), make([]uint64, 2*n)
		o.bins = make([]uint32, 1<<bits.Len(uint(2*n)))
	}
	return o.keys
}

// sort returns keys, which are in the room, in order; there is one at least. last is the largest.
func (o *order) sort(keys []uint64, last uint64) []uint64 {
	size := bits.Len(uint(len(keys))) // 2 to this power is more than there are keys, and twice as many at the most
	shift := max(0, bits.Len64(last)-size) & 63
	bins := o.bins[:1<<size]
	clear(bins)
	for _, key := range keys {
		bins[key>>shift]++
	}
	begin, most := uint32(0), uint32(0)
	for i, n := range bins {
		bins[i] = begin
		begin += n
		most = max(most, n)
	}
	if most > mostInBin {
		slices.Sort(keys)
		return keys
	}
	ordered := o.ordered[:len(keys)]
	for _, key := range keys {
		bin := &bins[key>>shift]
		ordered[*bin] = key
		*bin++
	}
	for i, key := range ordered {
		for ; i > 0 && ordered[i-1] > key; i-- {
			ordered[i] = ordered[i-1]
		}
		ordered[i] = key
	}
	return ordered
}
