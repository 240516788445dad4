package packet

import (
	"slices"
	"testing"

	"weir/core/unit"
)

// TestWantsOrder checks the order: forwarded packets first, then those woken by their departure, then later wakes, each
// in its order.
func TestWantsOrder(t *testing.T) {
	busy, free := unit.Time(5), unit.Time(4)
	var w NodeRequests
	w.SetPortClocks([]*unit.Time{&free, &busy, nil})
	if !w.IsPortFree(0, 4) || w.IsPortFree(1, 4) || w.IsPortFree(2, 4) || w.IsPortFree(3, 4) {
		t.Error("only port 0 is free at 4 ps")
	}
	for _, before := range [][]PortID{nil, {7}, {7, 8}} {
		p := &Packet{}
		for _, out := range before {
			w.WakePort(out)
		}
		if w.IsPortFree(0, 4) != (before == nil) {
			t.Errorf("%v are woken, and port 0 is free: %v", before, w.IsPortFree(0, 4))
		}
		w.CutThrough(0, p)
		w.WakePort(3)
		w.WakePort(4)
		if out, x := w.TakeCutThrough(); out != 0 || x != p || w.IsEmpty() {
			t.Errorf("handed %v by port %d", x, out)
		}
		var got []PortID
		for out, ok := w.NextWoken(); ok; out, ok = w.NextWoken() {
			if got = append(got, out); out == 3 {
				w.WakePort(9) // what the driver's asking wakes comes last
			}
		}
		if want := append(slices.Clone(before), 3, 4, 9); !slices.Equal(got, want) {
			t.Errorf("woken %v, want %v", got, want)
		}
		if _, x := w.TakeCutThrough(); x != nil || !w.IsEmpty() {
			t.Error("something is left")
		}
	}
}
