package sim

import (
	"math/rand"
	"testing"
)

// takeReady takes the first slot from the ring of a host, as emitNext does.
func takeReady(h *host) int32 {
	i := h.ready
	if h.ready = h.slot[i].next; h.ready < 0 {
		h.readyTail = -1
	}
	return i
}

// TestReadyOrder compares the ring of ready slots with two queues: replies go first, and each kind first in, first out.
func TestReadyOrder(t *testing.T) {
	const slots = 12
	random := rand.New(rand.NewSource(1))
	for replying := range slots + 1 {
		h := &host{slot: make([]slot, slots), ready: -1, readyTail: -1}
		var idle []int32
		for i := range h.slot {
			h.slot[i].replies = i < replying
			idle = append(idle, int32(i))
		}
		var replies, data []int32
		for step := range 5000 {
			if n := len(idle); n > 0 && (random.Intn(2) == 0 || n == slots) {
				k := random.Intn(n)
				i := idle[k]
				idle[k] = idle[n-1]
				idle = idle[:n-1]
				h.enqueue(i)
				if h.slot[i].replies {
					replies = append(replies, i)
				} else {
					data = append(data, i)
				}
				continue
			}
			from := &data
			if len(replies) > 0 {
				from = &replies
			}
			want := (*from)[0]
			*from = (*from)[1:]
			if got := takeReady(h); got != want {
				t.Fatalf("%d slots with replies, step %d: slot %d goes first, want %d", replying, step, got, want)
			}
			idle = append(idle, want)
			if (h.ready < 0) != (len(replies)+len(data) == 0) {
				t.Fatalf("%d slots with replies, step %d: the ring ends early", replying, step)
			}
		}
	}
}
