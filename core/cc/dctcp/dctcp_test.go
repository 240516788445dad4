package dctcp_test

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/dctcp"
	"weir/core/unit"
)

// round acknowledges n packets one by one. The given number of them is marked, and n are always in flight.
func round(d *dctcp.DCTCP, base *cc.Ack, n, marked int) {
	for i := range n {
		base.FirstUnacked += 1000
		base.Next = base.FirstUnacked + int64(n)*1000
		base.Delivered++
		if i < marked {
			base.ECN.Delivered++
		}
		a := *base
		a.Packets, a.Advanced = 1, true
		d.OnAck(0, &a)
	}
}

// TestDCTCP_FollowsRFC8257Steps checks RFC 8257 §3.3, steps 6 to 8: Alpha = Alpha·(1 − g) + g·M, once a window. Step 9:
// the window falls by Alpha/2. RFC 8257 §3.5: a loss halves it.
func TestDCTCP_FollowsRFC8257Steps(t *testing.T) {
	const g = 1 / 16.
	d := dctcp.New(cctest.NewFlow(1), dctcp.Config{G: g, InitialAlpha: 1, SlowStart: true})
	base := &cc.Ack{}
	base.Next = 20_000
	d.OnAck(0, base) // begins the first window
	alpha := d.Alpha()
	for i, m := range []int{0, 0, 5, 20, 20, 0, 10} {
		round(d, base, 20, m)
		alpha = alpha*(1-g) + g*float64(m)/20
		if math.Abs(d.Alpha()-alpha) > 1e-9 {
			t.Errorf("round %d, %d of 20 marked: alpha %.3f, want %.3f", i, m, d.Alpha(), alpha)
		}
	}
	d = dctcp.New(cctest.NewFlow(1), dctcp.Config{G: g, InitialAlpha: 0.5, SlowStart: true})
	grow := &cc.Ack{Packets: 90, Advanced: true, Limited: true}
	d.OnAck(0, grow)
	d.OnLoss(0, cc.Loss{Kind: cc.ECNEcho})
	if w := d.Decision().Window / 1000; w != 75 {
		t.Errorf("an echo at a window of 100 and alpha 0.5: %d, want 75", w)
	}
	d.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	if w := d.Decision().Window / 1000; w != 37 {
		t.Errorf("a loss at 75: %d, want 37", w)
	}
}

func ExampleNew() {
	d := dctcp.New(cc.Flow{MSS: 1000, InitialWindow: 40}, dctcp.Config{G: 1 / 16., InitialAlpha: 0.25, SlowStart: true})
	d.OnLoss(0, cc.Loss{Kind: cc.ECNEcho})
	fmt.Println(d.Decision().Window) // 40·(1 − 0.25/2)
	// Output: 35kB
}

// TestWithoutSlowStart checks that the variant of HPCC §5.1 has no slow start: the first window already grows by one
// packet a round trip.
func TestWithoutSlowStart(t *testing.T) {
	c := dctcp.New(cc.Flow{MSS: 1000, InitialWindow: 100}, dctcp.Config{G: 0.0625, InitialAlpha: 1})
	for i := range int64(100) {
		c.OnAck(unit.Time(i), &cc.Ack{Packets: 1, Bytes: 1000, Advanced: true, FirstUnacked: 1000 * (i + 1),
			Next:      1000 * (i + 101),
			Delivered: i + 1, Limited: true, Flight: cc.Flight{Before: 100, After: 99}})
	}
	if d := c.Decision(); d.Window != 101_000 || d.SlowStart {
		t.Errorf("after a round trip %+v", d)
	}
}
