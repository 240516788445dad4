package fabric

import "weir/unit"

// kind orders events at one time: port free < NIC wake < arrival < timer
// (DESIGN: total event order). With "free" first an arrival at the instant at
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

// heap is a 4-ary min-heap of event values.
type heap []event

func (h *heap) push(e event) {
	*h = append(*h, e)
	s := *h
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

func (h *heap) pop() event {
	s := *h
	top := s[0]
	last := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) > 0 {
		s.sift(last)
	}
	return top
}

// sift puts e into the hole at the root.
func (h heap) sift(e event) {
	i := 0
	for {
		child := i<<2 + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < child+4 && c < len(h); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
