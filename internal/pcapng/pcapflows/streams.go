package pcapflows

import (
	"cmp"
	"slices"
	"sort"

	"weir/core/unit"
)

// followConnections stores the streams of the TCP connections, from their segments in r.items, which must be in order
// of time. It also sets the source's counts of connections, segments and missing bytes.
func (r *captureReader) followConnections() {
	open := map[tuple]*connection{}
	var all []*connection
	for i := range r.items {
		x := &r.items[i]
		if x.flags&rst != 0 && x.offset == 0 {
			continue // its sequence number may not belong to the connection
		}
		key, side := tupleAndSide(x)
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
		switch c.halves[side].addSegment(x) {
		case repeated:
			r.Repeated++
		case outOfWindow:
			r.countLeft(outside)
		}
	}
	for _, c := range all {
		r.Connections++
		if !c.opened {
			r.Unopened++
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

// tuple identifies a connection by its two ends; a is the lower one.
type tuple struct {
	a, b         int32
	aPort, bPort uint16
}

// tupleAndSide returns a segment's connection and the index of the sending end.
func tupleAndSide(x *item) (t tuple, side int) {
	if x.Src < x.Dst || x.Src == x.Dst && x.from < x.to {
		return tuple{x.Src, x.Dst, x.from, x.to}, 0
	}
	return tuple{x.Dst, x.Src, x.to, x.from}, 1
}

// connection is a TCP connection.
type connection struct {
	halves [2]half
	opened bool // the capture has its SYN
}

// reopens reports whether a segment opens a new connection between the same ends: a SYN with a different sequence
// number.
func (c *connection) reopens(x *item, side int) bool {
	h := &c.halves[side]
	return x.flags&(syn|ack) == syn && h.known && uint32(h.base) != x.seq+1
}

// half is one direction of a connection. Sequence numbers do not wrap around.
type half struct {
	src, dst   int32
	known      bool
	base, high int64      // number of the first byte, and of the one after the last
	start      unit.Time  // time of the first captured byte
	holes      [][2]int64 // missing ranges in between, ascending
}

// Results of half.addSegment.
const (
	newBytes    = iota // new bytes
	noPayload          // no payload
	repeated           // only bytes captured before
	outOfWindow        // sequence number outside any window
)

// maxWindow is the largest TCP window in bytes (RFC 7323 §2.3).
const maxWindow = 1 << 30

// addSegment adds the bytes of a segment and returns one of the results above.
func (h *half) addSegment(x *item) int {
	seq := x.seq
	if x.flags&syn != 0 {
		seq++ // the SYN takes one number
	}
	if !h.known {
		h.known, h.base = true, int64(seq)
		h.high = h.base
	}
	near := int64(int32(seq - uint32(h.high)))
	from := h.high + near + int64(x.offset)
	to := from + int64(x.payload)
	switch {
	case near > maxWindow || near < -maxWindow:
		return outOfWindow
	case x.payload == 0:
		return noPayload
	case to <= h.base:
		return repeated
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
	if from < end && h.fillHoles(from, min(to, end)) {
		found = true
	}
	if !found {
		return repeated
	}
	return newBytes
}

// fillHoles removes the range from the holes and reports whether a hole shrank.
func (h *half) fillHoles(from, to int64) (found bool) {
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
