package cc_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestWindow_ReduceIdleKeepsThreshold checks RFC 2861 §3: an unused window shrinks, and the threshold keeps three
// quarters of it.
func TestWindow_ReduceIdleKeepsThreshold(t *testing.T) {
	w := cc.NewWindow(cc.Flow{MSS: 1000, InitialWindow: 100})
	w.ReduceTo(80)
	w.ReduceIdle(10)
	if w.Packets != 10 || w.Threshold != 80 {
		t.Errorf("window %d, threshold %d; want 10 and 80", w.Packets, w.Threshold)
	}
	w = cc.NewWindow(cc.Flow{MSS: 1000, InitialWindow: 100})
	w.ReduceTo(20)
	w.AddAcked(1, 80)
	w.ReduceIdle(10)
	if w.Packets != 10 || w.Threshold != 75 {
		t.Errorf("window %d, threshold %d; want 10 and three quarters of 100", w.Packets, w.Threshold)
	}
}

// TestWindow_AddAckedKeepsFractions checks that a slow increase loses no acknowledged bytes.
func TestWindow_AddAckedKeepsFractions(t *testing.T) {
	for _, every := range []float64{1, 2.5, 7, 100} {
		t.Run(fmt.Sprint("every ", every), func(t *testing.T) {
			w := cc.NewWindow(cc.Flow{MSS: 1000, InitialWindow: 10})
			for i := range 1000 {
				w.AddAcked(every, i%3)
			}
			if want := 10 + 999/every; float64(w.Packets) > want || float64(w.Packets) < want-1 {
				t.Errorf("999 packets, one more for every %g: %d, want %.1f", every, w.Packets, want)
			}
		})
	}
}

// TestWindow_WarningKeepsFourFifths checks RFC 8511 §3.1: a notice without loss keeps 0.8 of the window. The result is
// not below the network's offer, and never above the previous window.
func TestWindow_WarningKeepsFourFifths(t *testing.T) {
	for _, x := range []struct{ window, offered, want int }{
		{100, 0, 80}, {100, 70, 80}, {100, 90, 90}, {100, 100, 100}, {100, 150, 100}, {2, 0, 2}, {3, 1, 2},
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			w := cc.NewWindow(cc.Flow{MSS: 1000, InitialWindow: x.window})
			w.HandleLoss(cc.Loss{Kind: cc.Warned, Window: x.offered}, x.window/2)
			if w.Packets != x.want {
				t.Errorf("%d packets, want %d", w.Packets, x.want)
			}
		})
	}
}

func ExampleWindow() {
	w := cc.NewWindow(cc.Flow{MSS: 1000, InitialWindow: 10})
	w.ReduceTo(w.Packets / 2)
	fmt.Println(w.Packets, w.InSlowStart(), w.Decision().NextTimer == unit.Never)
	// Output: 5 false true
}
