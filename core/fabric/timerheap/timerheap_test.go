package timerheap

import (
	"testing"

	"weir/core/unit"
)

// TestHeap_TakesEntriesInOrder checks that the heap gives entries in order, also when pushes fill the hole of a take.
func TestHeap_TakesEntriesInOrder(t *testing.T) {
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
		if h.FirstTime() == unit.Never {
			t.Fatal("the heap is empty too early")
		}
		if head := h.FirstEntry(); head.At != h.FirstTime() {
			t.Fatalf("the head is %v, the first time %v", head, h.FirstTime())
		}
		e := h.Take()
		if e.IsBefore(now) {
			t.Fatalf("%v after %v", e, now)
		}
		now = e
		pending--
	}
}

// TestHeap_MoveKeepsOrder checks that Move changes one entry, forwards or backwards, and that the order is right
// afterwards.
func TestHeap_MoveKeepsOrder(t *testing.T) {
	random := unit.NewRandom(1, "move")
	for range 300 {
		var h Heap
		times := map[uint64]unit.Time{}
		for key := range uint64(1 + random.IntN(40)) {
			times[key] = unit.Time(random.IntN(100))
			h.Push(Entry{times[key], key})
		}
		if random.IntN(2) == 0 && h.FirstTime() != unit.Never {
			delete(times, h.Take().Key) // leaves a hole
		}
		for range 5 {
			key := uint64(random.IntN(40))
			if _, there := times[key]; there {
				times[key] = unit.Time(random.IntN(100))
				h.Move(key, times[key])
			}
		}
		now := Entry{-1, 0}
		for h.FirstTime() != unit.Never {
			e := h.Take()
			if !now.IsBefore(e) || times[e.Key] != e.At {
				t.Fatalf("%v after %v, want it at %v", e, now, times[e.Key])
			}
			delete(times, e.Key)
			now = e
		}
		if len(times) != 0 {
			t.Fatalf("%v are missing", times)
		}
	}
}
