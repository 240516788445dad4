package timerheap

import (
	"testing"

	"weir/core/unit"
)

// The heap gives entries in order, also when pushes fill the hole of a take.
func TestOrder(t *testing.T) {
	random := unit.NewRandom(1, "heap")
	var h Heap
	var now Entry
	pending := 0
	for step := range 200000 {
		if pending == 0 || random.IntN(100) < 50 && step < 150000 {
			h.Push(Entry{now.At + unit.Time(random.Int64N(1000)) + 1, uint64(random.Int64N(1 << 40))})
			pending++
			continue
		}
		if h.First() == unit.Never {
			t.Fatal("the heap is empty too early")
		}
		if head := h.Head(); head.At != h.First() {
			t.Fatalf("the head is %v, the first time %v", head, h.First())
		}
		e := h.Take()
		if e.before(now) {
			t.Fatalf("%v after %v", e, now)
		}
		now = e
		pending--
	}
}
