package pcapflows

import (
	"cmp"
	"slices"
	"sort"

	"weir/core/unit"
)

// connections finds what connections of TCP carry, from their segments in order of time.
func (r *reading) connections() {
	open := map[tuple]*connection{}
	var all []*connection
	for i := range r.items {
		x := &r.items[i]
		if x.flags&rst != 0 && x.offset == 0 {
			continue // its numbers need not be of the connection
		}
		key, side := tupleOf(x)
		c := open[key]
		if c == nil || x.offset == 0 && c.reopens(x, side) {
			c = &connection{}
			for k := range c.halves {
				c.halves[k].src, c.halves[k].dst = x.Src, x.Dst
				if k != side {
					c.halves[k].src, c.halves[k].dst = x.Dst, x.Src
				}
			}
			open[key] = c
			all = append(all, c)
		}
		c.opened = c.opened || x.flags&syn != 0
		switch c.halves[side].take(x) {
		case nothingNew:
			r.Repeated++
		case beyond:
			r.leave(outside)
		}
	}
	for _, c := range all {
		r.Connections++
		if !c.opened {
			r.Midway++
		}
		empty := true
		for k := range c.halves {
			if h := &c.halves[k]; h.high > h.base {
				empty = false
				r.Source.Flows = append(r.Source.Flows, Stream{h.start, h.src, h.dst, h.high - h.base})
				for _, x := range h.holes {
					r.Missing += x[1] - x[0]
				}
			}
		}
		if empty {
			r.Empty++
		}
	}
	slices.SortStableFunc(r.Source.Flows, func(a, b Stream) int { return cmp.Compare(a.Start, b.Start) })
}

// tuple is the ends of a connection, of which a is the lower one.
type tuple struct {
	a, b         int32
	aPort, bPort uint16
}

// tupleOf is a segment's connection, and from which of its ends it comes.
func tupleOf(x *item) (t tuple, side int) {
	if x.Src < x.Dst || x.Src == x.Dst && x.from < x.to {
		return tuple{x.Src, x.Dst, x.from, x.to}, 0
	}
	return tuple{x.Dst, x.Src, x.to, x.from}, 1
}

// connection is one of TCP.
type connection struct {
	halves [2]half
	opened bool // its SYN is in the capture
}

// reopens reports whether a segment opens another connection between the same ends: a SYN with another number than
// this one's.
func (c *connection) reopens(x *item, side int) bool {
	h := &c.halves[side]
	return x.flags&(syn|ack) == syn && h.known && uint32(h.base) != x.seq+1
}

// half is what goes in one direction. Numbers are those of TCP without their wrapping around.
type half struct {
	src, dst   int32
	known      bool
	base, high int64      // the first byte's, and that behind the last one
	start      unit.Time  // when the first one was seen
	holes      [][2]int64 // in between, ascending: bytes that were not seen
}

// What a segment has.
const (
	something  = iota
	nothing    // no payload
	nothingNew // only what was seen before
	beyond     // numbers farther away than any window
)

// widest is the largest window (RFC 7323 §2.3).
const widest = 1 << 30

// take counts the bytes of a segment that were not seen before.
func (h *half) take(x *item) int {
	seq := x.seq
	if x.flags&syn != 0 {
		seq++ // the SYN's own
	}
	if !h.known {
		h.known, h.base = true, int64(seq)
		h.high = h.base
	}
	near := int64(int32(seq - uint32(h.high)))
	from := h.high + near + int64(x.offset)
	to := from + int64(x.payload)
	switch {
	case near > widest || near < -widest:
		return beyond
	case x.payload == 0:
		return nothing
	case to <= h.base:
		return nothingNew
	}
	from = max(from, h.base)
	if h.high == h.base {
		h.start = x.At
	}
	found := to > h.high
	if from > h.high {
		h.holes = append(h.holes, [2]int64{h.high, from})
	}
	end := h.high
	h.high = max(h.high, to)
	if from < end && h.fill(from, min(to, end)) {
		found = true
	}
	if !found {
		return nothingNew
	}
	return something
}

// fill takes bytes out of the holes, and reports whether there were any.
func (h *half) fill(from, to int64) (found bool) {
	i := sort.Search(len(h.holes), func(i int) bool { return h.holes[i][1] > from })
	for ; i < len(h.holes) && h.holes[i][0] < to; i++ {
		x := h.holes[i]
		found = true
		var rest [][2]int64
		if x[0] < from {
			rest = append(rest, [2]int64{x[0], from})
		}
		if to < x[1] {
			rest = append(rest, [2]int64{to, x[1]})
		}
		h.holes = slices.Replace(h.holes, i, i+1, rest...)
		i += len(rest) - 1
	}
	return found
}
