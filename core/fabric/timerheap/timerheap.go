package timerheap

import (
	"math/bits"

	"weir/core/unit"
)

// Entry is 16 bytes: when, and what happens where.
type Entry struct {
	At  unit.Time // not negative
	Key uint64    // by which entries of one time are ordered
}

// Before says whether e comes before o.
func (e Entry) Before(o Entry) bool {
	return e.At < o.At || e.At == o.At && e.Key < o.Key
}

// less is 1 if e is before o, else 0. It uses the borrow of a subtraction, because the branches would be
// unpredictable. Times are not negative.
func less(e, o *Entry) int {
	_, c := bits.Sub64(e.Key, o.Key, 0)
	_, c = bits.Sub64(uint64(e.At), uint64(o.At), c)
	return int(c)
}

// Heap gives entries in the order of time and key. It is a 4-ary min-heap of values. Taking the
// first entry leaves a hole at the root, which the next push fills: most events schedule
// their successor, and then one sift does for both. The zero Heap is empty.
type Heap struct {
	entries []Entry
	hole    bool // entries[0] has been taken
}

// First returns the time of the first entry, unit.Never if there is none.
func (h *Heap) First() unit.Time {
	if h.hole {
		h.close()
	}
	if len(h.entries) == 0 {
		return unit.Never
	}
	return h.entries[0].At
}

// Head returns the first entry. First must have been called just before, and have found one.
func (h *Heap) Head() Entry { return h.entries[0] }

// Take returns the first entry and removes it. First must have been called just before, and have
// found one.
func (h *Heap) Take() Entry {
	h.hole = true
	return h.entries[0]
}

// Push adds an entry.
func (h *Heap) Push(e Entry) {
	if h.hole {
		h.hole = false
		h.sift(e)
		return
	}
	h.entries = append(h.entries, e)
	s := h.entries
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) >> 2
		if !e.Before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
}

// close fills the hole with the last entry.
func (h *Heap) close() {
	h.hole = false
	n := len(h.entries) - 1
	last := h.entries[n]
	h.entries = h.entries[:n]
	if n > 0 {
		h.sift(last)
	}
}

// sift puts e into the hole at the root.
func (h *Heap) sift(e Entry) {
	s := h.entries
	i := 0
	for {
		child := i<<2 + 1
		var least int
		if child+3 < len(s) { // the least of four: of two pairs
			c := (*[4]Entry)(s[child:])
			first := less(&c[1], &c[0])
			second := 2 + less(&c[3], &c[2])
			first += (second - first) & -less(&c[second&3], &c[first&3])
			a := &c[first&3]
			least = child + first
			if !a.Before(e) {
				break
			}
			s[i] = *a
			i = least
			continue
		}
		if child >= len(s) {
			break
		}
		least = child
		for c := child + 1; c < len(s); c++ {
			if s[c].Before(s[least]) {
				least = c
			}
		}
		if !s[least].Before(e) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = e
}

// Move changes the time of the entry with this key, of which there is one. It takes time in proportion to the
// heap: it is for what happens rarely.
func (h *Heap) Move(key uint64, at unit.Time) {
	if h.hole {
		h.close()
	}
	all := h.entries
	h.entries = make([]Entry, 0, cap(all))
	for _, e := range all {
		if e.Key == key {
			e.At = at
		}
		h.Push(e)
	}
}
