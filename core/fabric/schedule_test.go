package fabric

import (
	"testing"

	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// TestSchedule_MatchesHeapOrder checks that a schedule gives the order of a heap, however far events overtake others.
func TestSchedule_MatchesHeapOrder(t *testing.T) {
	for _, c := range []struct {
		name          string
		pending, span int
	}{{"few", 4, 10}, {"in order", 100, 1}, {"passing some", 200, 40}, {"passing all", 2000, 5000}} {
		t.Run(c.name, func(t *testing.T) {
			random := unit.NewRandom(1, "schedule "+c.name)
			s, h := schedule{next: unit.Never}, timerheap.Heap{}
			var now unit.Time
			left, heaped := 0, 0
			for n := range 20 * c.pending {
				if left < c.pending && random.IntN(3) > 0 || left == 0 {
					e := timerheap.Entry{At: now + unit.Time(left/4+random.IntN(c.span)), Key: uint64(n)}
					s.push(e)
					h.Push(e)
					left++
				} else {
					if want := h.FirstTime(); s.next != want {
						t.Fatalf("the next is at %d, want %d", s.next, want)
					}
					if got, want := s.take(), h.Take(); got != want {
						t.Fatalf("got %v, want %v", got, want)
					} else {
						now = got.At
					}
					left--
				}
				if s.early.FirstTime() != unit.Never {
					heaped++
				}
			}
			if c.name == "passing all" && heaped == 0 {
				t.Error("no event went to the heap")
			}
			for ; left > 0; left-- {
				h.FirstTime()
				if got, want := s.take(), h.Take(); got != want {
					t.Fatalf("at the end: got %v, want %v", got, want)
				}
			}
			if s.next != unit.Never {
				t.Errorf("nothing is left, and the next is at %d", s.next)
			}
		})
	}
}

func BenchmarkSchedule(b *testing.B) {
	s := schedule{next: unit.Never}
	for i := range 16 {
		s.push(timerheap.Entry{At: unit.Time(i), Key: uint64(i)})
	}
	for b.Loop() {
		e := s.take()
		e.At += 16
		s.push(e)
	}
}
