package transport

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQueue_KeepsOrder checks that entries keep their order while the ring grows and wraps.
func TestQueue_KeepsOrder(t *testing.T) {
	var q Queue[int]
	random := rand.New(rand.NewPCG(1, 2))
	in, out := 0, 0
	for range 10_000 {
		if q.Len() == 0 || random.IntN(100) < 52 {
			q.Push(in)
			if got := *q.Tail(); got != in {
				t.Fatalf("the last one is %d, not %d", got, in)
			}
			in++
		} else {
			if got := *q.Head(); got != out {
				t.Fatalf("%d, not %d", got, out)
			}
			q.Pop()
			out++
		}
		if q.Len() != in-out {
			t.Fatalf("%d are in it, not %d", q.Len(), in-out)
		}
	}
	for q.Len() > 0 { // an empty one has no state but its room
		q.Pop()
	}
	if x := q.ring; q.first != 0 || slices.Max(x) != 0 {
		t.Errorf("begins at %d, %v", q.first, x)
	}
}
