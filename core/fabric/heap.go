package fabric

import (
	"math/bits"

	"weir/core/unit"
)

// kind orders events at one time: port free < NIC wake < arrival < timer
// (docs/design.md#bytes-queues-order). With "free" first an arrival at the instant at
// which the port becomes free sees the same queue whether or not the free event
// was armed.
type kind uint64

const (
	portFree kind = iota << 60
	nicWake
	arrival
	timer
	kindMask kind = 3 << 60
)

// event is 16 bytes: when, and what happens where. The key (kind, then number of
// the port, link or node) is unique among pending events of one time and does
// not depend on who scheduled first.
type event struct {
	at  unit.Time
	key uint64
}

func (e event) before(o event) bool {
	return e.at < o.at || e.at == o.at && e.key < o.key
}

// less is 1 if e is before o, else 0, by the borrow of a subtraction rather than by
// branches, which nobody could predict. Times are not negative.
func less(e, o *event) int {
	_, c := bits.Sub64(e.key, o.key, 0)
	_, c = bits.Sub64(uint64(e.at), uint64(o.at), c)
	return int(c)
}

// heap is a 4-ary min-heap of event values. Taking the first event leaves a hole
// at the root, which the next push fills: most events schedule their successor,
// and then one sift does for both.
type heap struct {
	events []event
	hole   bool // events[0] has been taken
}

// first returns the time of the first event, unit.Never if there is none.
func (h *heap) first() unit.Time {
	if h.hole {
		h.close()
	}
	if len(h.events) == 0 {
		return unit.Never
	}
	return h.events[0].at
}

// take removes the first event. first must have been called just before.
func (h *heap) take() event {
	h.hole = true
	return h.events[0]
}

func (h *heap) push(e event) {
	if h.hole {
		h.hole = false
		h.sift(e)
		return
	}
	h.events = append(h.events, e)
	s := h.events
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) >> 2
		if !e.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
}

// close fills the hole with the last event.
func (h *heap) close() {
	h.hole = false
	n := len(h.events) - 1
	last := h.events[n]
	h.events = h.events[:n]
	if n > 0 {
		h.sift(last)
	}
}

// sift puts e into the hole at the root.
func (h *heap) sift(e event) {
	s := h.events
	i := 0
	for {
		child := i<<2 + 1
		var least int
		if child+3 < len(s) { // the least of four: of two pairs
			c := (*[4]event)(s[child:])
			first := less(&c[1], &c[0])
			second := 2 + less(&c[3], &c[2])
			first += (second - first) & -less(&c[second&3], &c[first&3])
			a := &c[first&3]
			least = child + first
			if !a.before(e) {
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
			if s[c].before(s[least]) {
				least = c
			}
		}
		if !s[least].before(e) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = e
}
