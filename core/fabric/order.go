package fabric

import (
	"math/bits"
	"slices"
)

// keySorter sorts keys in reused memory. Arrivals are spread almost evenly over their window. So each key goes into
// one of as many bins, by its leading bits, and is then close to its place.
type keySorter struct {
	keys, ordered []uint64
	bins          []uint32
}

// maxKeysPerBin limits the keys in a bin. If more share one, such as arrivals at one moment, all are sorted by a
// general algorithm, because an insertion sort would be slow.
const maxKeysPerBin = 16

// reserveKeys returns memory for at least n keys, valid until the next call.
func (o *keySorter) reserveKeys(n int) []uint64 {
	if len(o.keys) < n {
		o.keys, o.ordered = make([]uint64, 2*n), make([]uint64, 2*n)
		o.bins = make([]uint32, 1<<bits.Len(uint(2*n)))
	}
	return o.keys
}

// sortKeys returns keys in order, in the same or other memory. They must be in the memory of reserveKeys, and not
// empty. The argument maxKey is the largest key. The result is valid until the next call.
func (o *keySorter) sortKeys(keys []uint64, maxKey uint64) []uint64 {
	size := bits.Len(uint(len(keys))) // 2 to this power exceeds the number of keys, by a factor of at most two
	shift := max(0, bits.Len64(maxKey)-size) & 63
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
	if most > maxKeysPerBin {
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
