package packet

import (
	"slices"
	"testing"

	"weir/core/unit"
)

// What was handed through comes first, then what its leaving has woken, then later wakes, each in its order.
func TestWantsOrder(t *testing.T) {
	busy, free := unit.Time(5), unit.Time(4)
	var w Wants
	w.SetPortClocks([]*unit.Time{&free, &busy, nil})
	if !w.Free(0, 4) || w.Free(1, 4) || w.Free(2, 4) || w.Free(3, 4) {
		t.Error("only port 0 is free at 4 ps")
	}
	for _, before := range [][]PortID{nil, {7}, {7, 8}} {
		p := &Packet{}
		for _, out := range before {
			w.Wake(out)
		}
		if w.Free(0, 4) != (before == nil) {
			t.Errorf("%v are woken, and port 0 is free: %v", before, w.Free(0, 4))
		}
		w.CutThrough(0, p)
		w.Wake(3)
		w.Wake(4)
		if out, x := w.TakeCutThrough(); out != 0 || x != p || w.None() {
			t.Errorf("handed %v by port %d", x, out)
		}
		var got []PortID
		for out, ok := w.Woken(); ok; out, ok = w.Woken() {
			if got = append(got, out); out == 3 {
				w.Wake(9) // what the driver's asking wakes comes last
			}
		}
		if want := append(slices.Clone(before), 3, 4, 9); !slices.Equal(got, want) {
			t.Errorf("woken %v, want %v", got, want)
		}
		if _, x := w.TakeCutThrough(); x != nil || !w.None() {
			t.Error("something is left")
		}
	}
}
