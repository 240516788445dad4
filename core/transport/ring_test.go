package transport

import (
	"testing"

	"weir/core/unit"
)

// TestRing_KeepsEntriesWhileItGrows checks that entries stay the same while the window moves and the ring grows, from
// any first packet.
func TestRing_KeepsEntriesWhileItGrows(t *testing.T) {
	for _, first := range []int64{0, 3, 1<<40 + 5} {
		var r Ring[int64]
		una := first
		for n := first; n < first+1000; n++ {
			r.Reserve(una, n)
			*r.At(n) = n
			if n%3 == 0 {
				una++
			}
			for m := una; m <= n; m++ {
				if *r.At(m) != m {
					t.Fatalf("first %d: after packet %d the entry of %d is %d", first, n, m, *r.At(m))
				}
			}
		}
		if window := first + 1000 - una; r.Len() < int(window) || r.Len() >= 2*int(window) {
			t.Errorf("first %d: room for %d packets with a window of %d", first, r.Len(), window)
		}
	}
}

// TestRing_ReserveFarAhead checks that a packet far ahead gets room at once.
func TestRing_ReserveFarAhead(t *testing.T) {
	r := NewRing[int](5)
	if *r.At(7) = 7; r.Len() != 8 {
		t.Fatalf("room for %d packets, 8 is the next power of two", r.Len())
	}
	r.Reserve(7, 1000)
	if *r.At(1000) = 1; *r.At(7) != 7 || r.Len() != 1024 {
		t.Errorf("entry %d, room for %d packets", *r.At(7), r.Len())
	}
}

// TestRing_Renew checks that another flow gets the memory of the last one if that is long enough and not above the
// limit.
func TestRing_Renew(t *testing.T) {
	for _, x := range []struct{ has, length, limit, want int }{
		{16, 10, 64, 16}, {16, 17, 64, 32}, {128, 1, 64, 1}, {64, 1, 64, 64}, {0, 1, 64, 1},
	} {
		var r Ring[int]
		if x.has > 0 {
			r = NewRing[int](x.has)
		}
		if r.Renew(x.length, x.limit); r.Len() != x.want {
			t.Errorf("%+v: room for %d packets", x, r.Len())
		}
	}
}

func TestFlights_InOrderOfTime(t *testing.T) {
	var f Flights
	for i := range int64(100) {
		f.Record(i%7, unit.Time(i))
		if i%2 == 1 {
			f.RemoveOldest()
		}
	}
	if f.Len() != 50 || *f.Oldest() != (Flight{50 % 7, 50}) || *f.At(f.Last - 1) != (Flight{99 % 7, 99}) {
		t.Fatalf("%d transmissions, from %+v to %+v", f.Len(), *f.Oldest(), *f.At(f.Last - 1))
	}
	if f.Renew(0); f.Len() != 0 {
		t.Errorf("a new flow has %d transmissions", f.Len())
	}
}

func TestFlights_OldestLive(t *testing.T) {
	var f Flights
	for i := range int64(10) {
		f.Record(i, unit.Time(i))
	}
	isLive := func(x *Flight) bool { return x.Packet == 3 || x.Packet == 5 }
	for range 2 { // a live transmission stays
		if x := f.OldestLive(isLive); x == nil || *x != (Flight{3, 3}) || f.Len() != 7 {
			t.Fatalf("%+v of %d transmissions, want number 3 of 7", x, f.Len())
		}
	}
	if x := f.OldestLive(func(*Flight) bool { return false }); x != nil || f.Len() != 0 {
		t.Errorf("%+v of %d transmissions, want none", x, f.Len())
	}
}
