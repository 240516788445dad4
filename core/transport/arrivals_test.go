package transport

import (
	"testing"

	"weir/core/unit"
)

// TestArrivals_MatchesMap compares the set and its reports with a map's, for packets in any order and far ahead.
func TestArrivals_MatchesMap(t *testing.T) {
	for _, span := range []int{2, 63, 64, 65, 200, 5000} {
		random := unit.NewRandom(uint64(span), "arrivals")
		var a Arrivals
		arrived := map[int64]bool{}
		for range 4000 {
			n := a.Expected + int64(random.IntN(span))
			if a.Has(n) != arrived[n] {
				t.Fatalf("span %d: packet %d: Has is %v", span, n, a.Has(n))
			}
			if arrived[n] {
				continue
			}
			a.Add(n)
			arrived[n] = true
			expected := a.Expected
			if arrived[expected] {
				t.Fatalf("span %d: expects packet %d, which has arrived", span, expected)
			}
			base := expected - 70 + int64(random.IntN(span+80))
			for k := range int64(64) {
				want := base+k > expected && arrived[base+k]
				if got := a.Bits(base)>>k&1 == 1; got != want {
					t.Fatalf("span %d, expects %d: bit %d from %d is %v", span, expected, k, base, got)
				}
			}
		}
		beyond := int64(0)
		for n := range arrived { //weir:unordered they are counted
			if n > a.Expected {
				beyond++
			}
		}
		if a.Ahead != beyond {
			t.Errorf("span %d: %d ahead, %d are", span, a.Ahead, beyond)
		}
	}
}

// TestArrivals_Memory checks that memory of the caller is used until it is full.
func TestArrivals_Memory(t *testing.T) {
	var memory [4]uint64
	a := NewArrivals(memory[:])
	if n := testing.AllocsPerRun(1, func() { a.Add(a.Expected + 190) }); n != 0 || memory[190/64] == 0 {
		t.Errorf("%v allocations, memory %x", n, memory)
	}
	a.Add(500)
	if !a.Has(500) || !a.Has(190) || a.Has(499) || a.Bits(437) != 1<<63 {
		t.Errorf("it lost packets as it grew: %x", a.Bits(437))
	}
}

func TestBitmap_Remove(t *testing.T) {
	var b Bitmap
	for n := int64(10); n < 400; n += 3 {
		b.Add(n, 10)
	}
	for n := int64(10); n < 400; n++ {
		if got := b.Has(n, 10); got != (n%3 == 1) {
			t.Fatalf("%d: %v", n, got)
		}
		if n%3 == 1 {
			b.Remove(n)
		}
	}
	for n := int64(400); n < 1000; n++ {
		if b.Has(n, 400) {
			t.Errorf("%d is in the empty set", n)
		}
	}
}
