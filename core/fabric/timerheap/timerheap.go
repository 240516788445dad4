package timerheap

import (
	"math/bits"

	"weir/core/unit"
)

// Entry is an event of 16 bytes: its time, and a key that identifies it.
type Entry struct {
	At  unit.Time // not negative
	Key uint64    // orders entries of the same time
}

// IsBefore reports whether e comes before o.
func (e Entry) IsBefore(o Entry) bool {
	return e.At < o.At || e.At == o.At && e.Key < o.Key
}

// lessBit returns 1 if e is before o, else 0. It uses the borrow of a subtraction, because branches would be
// unpredictable. Times are not negative.
func lessBit(e, o *Entry) int {
	_, c := bits.Sub64(e.Key, o.Key, 0)
	_, c = bits.Sub64(uint64(e.At), uint64(o.At), c)
	return int(c)
}

// Heap returns entries in the order of time and key. It is a 4-ary min-heap of values. Taking the first entry leaves a
// hole at the root, which the next push fills: most events schedule their successor, and then one sift serves both.
// The zero Heap is empty.
type Heap struct {
	entries []Entry
	hole    bool // entries[0] has been taken
}

// FirstTime returns the time of the first entry, unit.Never if the heap is empty.
func (h *Heap) FirstTime() unit.Time {
	if h.hole {
		h.fillHole()
	}
	if len(h.entries) == 0 {
		return unit.Never
	}
	return h.entries[0].At
}

// FirstEntry returns the first entry. FirstTime must have been called just before, and the heap must not be empty.
func (h *Heap) FirstEntry() Entry { return h.entries[0] }

// Take removes and returns the first entry. FirstTime must have been called just before, and the heap must not be
// empty.
func (h *Heap) Take() Entry {
	h.hole = true
	return h.entries[0]
}

// Push adds an entry.
func (h *Heap) Push(e Entry) {
	if h.hole {
		h.hole = false
		h.siftIntoHole(e)
		return
	}
	h.entries = append(h.entries, e)
	s := h.entries
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) >> 2
		if !e.IsBefore(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
}

// fillHole fills the hole with the last entry, which moves down to its position.
func (h *Heap) fillHole() {
	h.hole = false
	n := len(h.entries) - 1
	last := h.entries[n]
	h.entries = h.entries[:n]
	if n > 0 {
		h.siftIntoHole(last)
	}
}

// siftIntoHole puts e into the hole at the root. Smaller entries move up.
func (h *Heap) siftIntoHole(e Entry) {
	s := h.entries
	i := 0
	for {
		child := i<<2 + 1
		var least int
		if child+3 < len(s) { // the minimum of four: of two pairs
			c := (*[4]Entry)(s[child:])
			first := lessBit(&c[1], &c[0])
			second := 2 + lessBit(&c[3], &c[2])
			first += (second - first) & -lessBit(&c[second&3], &c[first&3])
			a := &c[first&3]
			least = child + first
			if !a.IsBefore(e) {
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
			if s[c].IsBefore(s[least]) {
				least = c
			}
		}
		if !s[least].IsBefore(e) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = e
}

// Move changes the time of the only entry with this key to newTime. Without such an entry the heap stays the same. It
// takes time in proportion to the heap's size, so it is for rare cases.
func (h *Heap) Move(key uint64, newTime unit.Time) {
	if h.hole {
		h.fillHole()
	}
	all := h.entries
	h.entries = make([]Entry, 0, cap(all))
	for _, e := range all {
		if e.Key == key {
			e.At = newTime
		}
		h.Push(e)
	}
}
