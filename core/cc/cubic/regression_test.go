package cubic

import (
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/unit"
)

func TestCubic_RTOSetsKToZero(t *testing.T) {
	for _, v := range []string{RFC9438, Linux} {
		t.Run(v, func(t *testing.T) {
			c := New(cctest.NewFlow(1, cctest.SetInitialWindow(1000)), plain(v))
			c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
			c.OnLoss(0, cc.Loss{Kind: cc.Recovered})
			c.OnLoss(0, cc.Loss{Kind: cc.RetransmissionTimeout})
			c.OnLoss(0, cc.Loss{Kind: cc.Recovered})
			now := unit.Time(0)
			for c.window.InSlowStart() {
				now = ackEvenly(c, now, 100*ms, 100*ms)
			}
			now = ackEvenly(c, now, 100*ms, 100*ms)
			t.Logf("%s: K %.2f origin %.0f wMax %.0f cwnd %d", v, c.k, c.origin, c.wMax, packets(c))
			before := packets(c)
			ackEvenly(c, now, unit.Second, 100*ms)
			t.Logf("%s: ten round trips: %d -> %d", v, before, packets(c))
			if c.k != 0 {
				t.Errorf("%s: K = %.2f after a timeout; RFC 9438 §4.8: 0", v, c.k)
			}
		})
	}
}

// TestPlusPlusUnlimited checks that HyStart++ uses RTT samples of ACKs that find the window not limiting.
func TestPlusPlusUnlimited(t *testing.T) {
	config := Defaults()
	config.HyStart = PlusPlus
	c := New(cc.Flow{MSS: 1000, InitialWindow: 64, Paced: true}, config)
	una := int64(0)
	round := func(rtt unit.Time, limited bool) {
		for n := range 16 {
			una++
			c.OnAck(0, &cc.Ack{Packets: 1, Advanced: true, Limited: limited && n >= 8, RTT: cc.RTT{Sample: rtt, Smoothed: rtt},
				FirstUnacked: una,
				Next:         una + 16})
		}
	}
	round(40*ms, true)
	for range 4 {
		round(60*ms, true)
	}
	t.Logf("conservative %v, samples %d, current %v last %v", c.plusPlus.conservative, c.plusPlus.samples,
		c.plusPlus.currentRoundRTT,
		c.plusPlus.lastRoundRTT)
	if !c.plusPlus.conservative {
		t.Error("RTT 40 to 60 ms over rounds of 16 samples is not seen")
	}
}

// TestPlusPlusStale checks RFC 9406 §4.2: every ACK in slow start counts for rounds and samples.
func TestPlusPlusStale(t *testing.T) {
	config := Defaults()
	config.HyStart = PlusPlus
	c := New(cc.Flow{MSS: 1000, InitialWindow: 64, Paced: true}, config)
	una := int64(0)
	round := func(rtt unit.Time, limited bool) {
		for range 16 {
			una++
			c.OnAck(0, &cc.Ack{Packets: 1, Advanced: true, Limited: limited, RTT: cc.RTT{Sample: rtt, Smoothed: rtt},
				FirstUnacked: una,
				Next:         una + 16})
		}
	}
	round(40*ms, true)
	round(40*ms, true)
	for range 20 {
		round(20*ms, false) // the application limits
	}
	round(30*ms, true)
	round(30*ms, true)
	if !c.plusPlus.conservative {
		t.Error("20 to 30 ms is not seen to grow")
	}
}

func TestCubic_LossRoundsWindowUp(t *testing.T) {
	for n := 3; n < 100000; n++ {
		c := New(cctest.NewFlow(1, cctest.SetInitialWindow(n)), plain(Linux))
		c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
		if packets(c) < n*7/10 {
			t.Fatalf("0.7*%d: %d", n, packets(c))
		}
	}
}

// TestUndoLinux checks that Linux's cubic restores only cwnd and ssthresh: epoch_start remains 0, and last_max_cwnd
// remains the loss's.
func TestUndoLinux(t *testing.T) {
	c := New(cctest.NewFlow(1, cctest.SetInitialWindow(1000)), plain(Linux))
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	ackEvenly(c, 0, 2*unit.Second, 100*ms)
	n := packets(c)
	c.OnLoss(2*unit.Second, cc.Loss{Kind: cc.FastRecovery})
	c.OnLoss(2100*ms, cc.Loss{Kind: cc.Spurious})
	c.OnLoss(2100*ms, cc.Loss{Kind: cc.Recovered})
	ackEvenly(c, 2100*ms, 2*unit.Second, 100*ms)
	// new epoch at n > last_max_cwnd = 0.85 n: K = 0, origin n; 0.4 * 2.1^3 = 3.7; Reno-friendly: 20 * 0.53 = 10.6
	if got := packets(c); got > n+12 {
		t.Errorf("2 s after the undo at %d: %d; Linux: %d", n, got, n+11)
	}
}
