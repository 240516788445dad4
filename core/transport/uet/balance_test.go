package uet

import (
	"fmt"
	"testing"

	"weir/core/unit"
)

func balance(kind string, paths int) balancer {
	return newBalancer(kind, paths, 0xab00&^uint16(paths-1), 10*unit.Millisecond, 16, 8, unit.NewRandom(1, kind))
}

// TestOblivious_UsesEachValueOncePerRound checks that oblivious uses each value once a round, in a different order each
// round. The flow's upper bits stay.
func TestOblivious_UsesEachValueOncePerRound(t *testing.T) {
	b := balance(balanceOblivious, 16)
	orders := map[string]bool{}
	for range 20 {
		seen := map[uint16]bool{}
		var order []uint16
		for range 16 {
			ev := b.nextValue(0, 0, 0)
			seen[ev] = true
			order = append(order, ev&15)
			if ev&^15 != 0xab00 {
				t.Fatalf("upper bits of %#x", ev)
			}
			b.handleFeedback(0, ev, timeout) // is not heeded
		}
		if len(seen) != 16 {
			t.Fatalf("%d values in a round", len(seen))
		}
		orders[fmt.Sprint(order)] = true
	}
	if len(orders) < 5 || len(orders) > 16 {
		t.Errorf("%d orders in 20 rounds, of 16 masks", len(orders))
	}
}

// TestBitmap_SkipsPenalisedValues checks that bitmap skips values with a penalty until it is used up, a point for each
// packet that meets it first. Penalties end at 15. If all values have one, a packet still goes.
func TestBitmap_SkipsPenalisedValues(t *testing.T) {
	b := balance(balanceBitmap, 4).(*bitmap)
	bad := uint16(0xab02)
	for range 9 {
		b.handleFeedback(0, bad, trimmed)
	}
	if b.penalty[2] != 15 {
		t.Fatalf("penalty %d", b.penalty[2])
	}
	met := 0
	for n := 0; b.penalty[2] > 0; n++ {
		before := b.penalty[2]
		if ev := b.nextValue(0, 0, 0); ev == bad {
			t.Fatalf("packet %d takes a value with penalty %d", n, before)
		}
		if b.penalty[2] < before {
			met++
		}
	}
	if met != 15 {
		t.Errorf("%d packets for 15 points", met)
	}
	for i, want := range map[feedback]uint8{good: 0, marked: 1, trimmed: 4, timeout: 15} {
		c := balance(balanceBitmap, 4).(*bitmap)
		if c.handleFeedback(0, 0xab01, i); c.penalty[1] != want {
			t.Errorf("feedback %d: %d, want %d", i, c.penalty[1], want)
		}
	}
	for i := range b.penalty {
		b.penalty[i] = 15
	}
	if b.nextValue(0, 0, 0); b.penalty[0]+b.penalty[1]+b.penalty[2]+b.penalty[3] != 59 {
		t.Errorf("penalties %v after a packet that found all bad", b.penalty)
	}
}

// TestREPS_RecyclesGoodValues checks that REPS reuses each successful value once, the oldest first, of the last eight;
// otherwise any. After a timeout it cycles through the ring for 10 ms, then clears it and explores with 16 packets.
func TestREPS_RecyclesGoodValues(t *testing.T) {
	b := balance(balanceREPS, 256)
	for i := range uint16(10) {
		b.handleFeedback(0, 0xab10+i, good)
	}
	b.handleFeedback(0, 0xab20, marked) // is not kept
	for i := uint16(2); i < 10; i++ {
		if ev := b.nextValue(0, 0, 0); ev != 0xab10+i {
			t.Fatalf("%#x, want %#x", ev, 0xab10+i)
		}
	}
	seen := map[uint16]bool{}
	for range 200 {
		seen[b.nextValue(0, 0, 0)] = true
	}
	if len(seen) < 80 {
		t.Errorf("%d values of 256 in 200 packets without any to take", len(seen))
	}
	b.handleFeedback(unit.Millisecond, 0xab00, timeout)
	for i := range uint16(24) {
		if ev, want := b.nextValue(2*unit.Millisecond, 0, 0), 0xab12+(i%8); ev < 0xab12 || ev > 0xab19 {
			t.Fatalf("frozen: %#x, want something like %#x", ev, want)
		}
	}
	b.handleFeedback(5*unit.Millisecond, 0xab00, timeout) // does not prolong it
	after := map[uint16]bool{}
	for i := range 16 {
		b.handleFeedback(12*unit.Millisecond, 0xab77, good)
		ev := b.nextValue(12*unit.Millisecond, 0, 0)
		if i > 0 || ev != 0xab77 {
			after[ev] = true
		}
	}
	if len(after) < 12 {
		t.Errorf("%d values while it explores", len(after))
	}
	if ev := b.nextValue(12*unit.Millisecond, 0, 0); ev != 0xab77 {
		t.Errorf("%#x after it has explored", ev)
	}
}

// TestREPSLegacy checks that REPS legacy counts up in the first window, at most once through all values. Then
// successful values go first, without a bound on their number.
func TestREPSLegacy(t *testing.T) {
	b := balance(balanceRecycleAll, 64)
	for i := range uint16(100) {
		b.handleFeedback(0, 0xab30, good)
		if i < 20 {
			if ev := b.nextValue(0, int64(i), 20); ev != 0xab00+i {
				t.Fatalf("packet %d: %#x", i, ev)
			}
		}
	}
	for i := range 100 {
		if ev := b.nextValue(0, 20, 20); ev != 0xab30 {
			t.Fatalf("%d: %#x", i, ev)
		}
	}
	if ev := b.nextValue(0, 20, 20); ev != 0xab00+20 {
		t.Errorf("%#x when nothing is left", ev)
	}
}

// TestMixed_RecyclesThenFollowsBitmap checks that mixed uses successful values first, then the bitmap's.
func TestMixed_RecyclesThenFollowsBitmap(t *testing.T) {
	b := balance(balanceMixed, 4)
	b.handleFeedback(0, 0xab02, timeout)
	b.handleFeedback(0, 0xab01, good)
	b.handleFeedback(0, 0xab03, good)
	got := []uint16{b.nextValue(0, 0, 0), b.nextValue(0, 0, 0)}
	if got[0] != 0xab01 || got[1] != 0xab03 {
		t.Errorf("%#x", got)
	}
	for range 6 {
		if ev := b.nextValue(0, 0, 0); ev == 0xab02 {
			t.Error("a value that has timed out is taken")
		}
	}
}

// TestOnePath checks that one path uses the same value always, among those of the flow.
func TestOnePath(t *testing.T) {
	b := balance(balanceOnePath, 64)
	ev := b.nextValue(0, 0, 0)
	for range 50 {
		b.handleFeedback(0, ev, timeout)
		if again := b.nextValue(0, 0, 0); again != ev || ev&^63 != 0xab00&^63 {
			t.Fatalf("%#x after %#x", again, ev)
		}
	}
}

// TestOneValue checks that all packets use the single value of each list under any balancer.
func TestOneValue(t *testing.T) {
	for _, kind := range balanceKinds {
		t.Run(kind, func(t *testing.T) {
			b := balance(kind, 1)
			for i := range int64(40) {
				ev := b.nextValue(unit.Time(i)*unit.Millisecond, i, 10)
				if ev != 0xab00 {
					t.Fatalf("%#x", ev)
				}
				b.handleFeedback(unit.Time(i)*unit.Millisecond, ev, feedback(i%4))
			}
		})
	}
}
