package reno_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/reno"
)

func ack(n int) *cc.Ack { return &cc.Ack{Packets: n, Advanced: true, Limited: true} }

func window(c cc.Controller) int { return int(c.Decision().Window / 1000) }

// TestReno_FollowsRFC5681Formulas checks RFC 5681 §3.1: slow start adds the acknowledged bytes. Equation 3: congestion
// avoidance adds a packet a window. Equation 4: a loss halves the window, to at least two packets. After a timeout the
// window is one packet and the threshold half of it.
func TestReno_FollowsRFC5681Formulas(t *testing.T) {
	r := reno.New(cctest.NewFlow(1))
	r.OnAck(0, ack(10))
	if window(r) != 20 || !r.Decision().SlowStart {
		t.Errorf("slow start: 10 + 10 = %d", window(r))
	}
	r.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	r.OnLoss(0, cc.Loss{Kind: cc.Recovered})
	if window(r) != 10 || r.Decision().SlowStart {
		t.Errorf("after a loss at 20: %d", window(r))
	}
	for n := 10; n < 100; n++ { // n packets acknowledged with a window of n
		for range n - 1 {
			r.OnAck(0, ack(1))
		}
		if window(r) != n {
			t.Fatalf("%d packets acknowledged at window %d: %d", n-1, n, window(r))
		}
		r.OnAck(0, ack(1))
		if window(r) != n+1 {
			t.Fatalf("%d packets acknowledged at window %d: %d", n, n, window(r))
		}
	}
	r.OnLoss(0, cc.Loss{Kind: cc.RetransmissionTimeout, InFlight: 0})
	if window(r) != 1 {
		t.Errorf("after a timeout: %d", window(r))
	}
	for range 49 {
		r.OnAck(0, ack(1))
	}
	if window(r) != 50 || r.Decision().SlowStart {
		t.Errorf("slow start to half of 100: %d, %v", window(r), r.Decision().SlowStart)
	}
	for range 20 {
		r.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	}
	if window(r) != 2 {
		t.Errorf("the least window is %d", window(r))
	}
}

// TestStretchedACKs checks RFC 3465: a byte counts once, for any number of ACKs.
func TestStretchedACKs(t *testing.T) {
	a, b := reno.New(cctest.NewFlow(1)), reno.New(cctest.NewFlow(1))
	for _, r := range []*reno.Reno{a, b} {
		r.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	}
	for range 1000 {
		a.OnAck(0, ack(1))
	}
	for range 100 {
		b.OnAck(0, ack(10))
	}
	if d := window(a) - window(b); d < -1 || d > 1 {
		t.Errorf("1000 ACKs of one packet: %d; 100 of ten: %d", window(a), window(b))
	}
}

func ExampleNew() {
	r := reno.New(cc.Flow{MSS: 1000, InitialWindow: 10})
	r.OnAck(0, &cc.Ack{Packets: 2, Advanced: true, Limited: true})
	fmt.Println(r.Decision().Window)
	// Output: 12kB
}
