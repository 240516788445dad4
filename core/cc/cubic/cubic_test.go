package cubic

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/unit"
)

const ms = unit.Millisecond

func packets(c *Cubic) int { return int(c.Decision().Window / 1000) }

func plain(variant string) Config {
	c := Defaults()
	c.HyStart, c.Variant = NoHyStart, variant
	return c
}

// ackEvenly acknowledges packets at equal distances, one window per round trip, for the time long. It returns the time
// of the last acknowledgement.
func ackEvenly(c *Cubic, from, long, rtt unit.Time) unit.Time {
	end := from + long
	for now := from; now < end; {
		now += rtt / unit.Time(packets(c))
		c.OnAck(now, &cc.Ack{Packets: 1, Advanced: true, Limited: true, RTT: cc.RTT{Sample: rtt, Smoothed: rtt}})
		from = now
	}
	return from
}

// TestCubic_FollowsCubicCurve checks RFC 9438 §4.2, equations 1 and 2, and §4.6: from 70 % of W_max = 1000 the window
// follows C(t − K)³ + W_max. It reaches W_max after K = ∛(300/0.4) = 9.09 s.
func TestCubic_FollowsCubicCurve(t *testing.T) {
	for _, variant := range []string{Linux, RFC9438} {
		t.Run(variant, func(t *testing.T) {
			c := New(cctest.NewFlow(1, cctest.SetInitialWindow(1000)), plain(variant))
			c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
			if packets(c) != 700 {
				t.Fatalf("after the loss: %d", packets(c))
			}
			k := math.Cbrt(300 / 0.4)
			now := unit.Time(0)
			for now < 15*unit.Second {
				now = ackEvenly(c, now, 100*ms, 100*ms)
				at := now.Seconds() - k
				if want := 0.4*at*at*at + 1000; now > 300*ms && math.Abs(float64(packets(c))+0.5-want) > 1.5 {
					t.Errorf("%s at %v: %d, want %.1f", variant, now, packets(c), want)
				}
			}
		})
	}
}

// TestRenoFriendly checks RFC 9438 §4.3, equation 4: where the cubic function is slower, the window follows an AIMD
// with α = 3(1 − β)/(1 + β) = 0.529 packets a round trip. Above the last maximum α is 1 (rfc9438), or always 0.529
// (linux).
func TestRenoFriendly(t *testing.T) {
	const alpha = 3 * 0.3 / 1.7
	for _, variant := range []string{Linux, RFC9438} {
		t.Run(variant, func(t *testing.T) {
			c := New(cctest.NewFlow(1, cctest.SetInitialWindow(40)), plain(variant))
			c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery}) // 28
			now := ackEvenly(c, 0, 200*ms, 10*ms)       // 20 round trips
			if got, want := float64(packets(c)), 28+20*alpha; math.Abs(got-want) > 1.5 {
				t.Errorf("%s after 20 round trips: %g, want %.1f", variant, got, want)
			}
			now = ackEvenly(c, now, 300*ms, 10*ms)
			before := packets(c)
			ackEvenly(c, now, 200*ms, 10*ms)
			want := 20 * alpha
			if variant == RFC9438 {
				want = 20
			}
			if got := float64(packets(c) - before); math.Abs(got-want) > 2 {
				t.Errorf("%s beyond the last maximum: %g packets in 20 round trips, want %.1f", variant, got, want)
			}
		})
	}
}

// TestCubic_LossesFollowRFC9438 checks RFC 9438 §4.7: when the window at a loss is below the last W_max, W_max becomes
// cwnd(1 + β)/2. §4.8 of RFC 9438: after a timeout the window is 1 and the threshold β·cwnd. §4.9 of RFC 9438: a
// spurious loss restores all state.
func TestCubic_LossesFollowRFC9438(t *testing.T) {
	c := New(cctest.NewFlow(1, cctest.SetInitialWindow(100)), plain(RFC9438))
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	if c.wMax != 100 || packets(c) != 70 {
		t.Errorf("first loss: W_max %g, window %d", c.wMax, packets(c))
	}
	c.OnLoss(unit.Second, cc.Loss{Kind: cc.FastRecovery})
	if math.Abs(c.wMax-70*0.85) > 0.01 || packets(c) != 49 {
		t.Errorf("second loss, at 70: W_max %g, want 59.5; window %d", c.wMax, packets(c))
	}
	c.OnLoss(2*unit.Second, cc.Loss{Kind: cc.Spurious})
	if packets(c) != 70 || c.wMax != 100 {
		t.Errorf("it was spurious: W_max %g, window %d", c.wMax, packets(c))
	}
	c.OnLoss(3*unit.Second, cc.Loss{Kind: cc.RetransmissionTimeout})
	if packets(c) != 1 || c.window.Threshold != 49 {
		t.Errorf("timeout at 70: window %d, threshold %d", packets(c), c.window.Threshold)
	}
	config := plain(RFC9438)
	config.FastConvergence = false
	c = New(cctest.NewFlow(1, cctest.SetInitialWindow(100)), config)
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	if c.wMax != 70 {
		t.Errorf("without fast convergence: W_max %g, want 70", c.wMax)
	}
}

// TestCubic_ExcludesIdleTime checks RFC 9438 §5.8: idle time does not count.
func TestCubic_ExcludesIdleTime(t *testing.T) {
	a, b := New(cctest.NewFlow(1, cctest.SetInitialWindow(100)), plain(RFC9438)), New(cctest.NewFlow(1,
		cctest.SetInitialWindow(100)), plain(RFC9438))
	for _, c := range []*Cubic{a, b} {
		c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
		ackEvenly(c, 0, unit.Second, 50*ms)
	}
	b.OnSend(11*unit.Second, cc.Sent{Bytes: 1000, Idle: 10 * unit.Second})
	ackEvenly(a, unit.Second, unit.Second, 50*ms)
	ackEvenly(b, 11*unit.Second, unit.Second, 50*ms)
	if packets(a) != packets(b) {
		t.Errorf("%d without a pause of 10 s, %d with it", packets(a), packets(b))
	}
}

// TestBeforeTheFirstLoss checks that Linux grows by at least 5 % a round trip before the first loss.
func TestBeforeTheFirstLoss(t *testing.T) {
	c := New(cctest.NewFlow(1, cctest.SetInitialWindow(100)), plain(Linux))
	c.window.Threshold = 100
	ackEvenly(c, 0, 500*ms, 50*ms) // ten round trips
	if got, want := float64(packets(c)), 100*math.Pow(1.05, 10); math.Abs(got/want-1) > 0.03 {
		t.Errorf("after ten round trips: %g, want %.0f", got, want)
	}
}

// ackRound acknowledges n packets one by one, the first at now, with so much between;
// n are always in flight.
func ackRound(c *Cubic, now unit.Time, una *int64, n int, gap, rtt unit.Time) unit.Time {
	for range n {
		*una++
		c.OnAck(now, &cc.Ack{Packets: 1, Advanced: true, Limited: true, RTT: cc.RTT{Sample: rtt, Smoothed: rtt},
			FirstUnacked: *una,
			Next:         *una + int64(n)})
		now += gap
	}
	return now
}

// TestLinuxHyStart checks Linux's HyStart. A train of ACKs that lasts half of the minimum RTT, plus about a burst's
// time, ends slow start. So does an RTT that has grown by 1/8, within 4 to 16 ms, after eight samples. Neither applies
// below 16 packets.
func TestLinuxHyStart(t *testing.T) {
	config := Defaults()
	start := func(gap unit.Time, rtts ...unit.Time) (c *Cubic) {
		c = New(cctest.NewFlow(1, cctest.SetInitialWindow(10)), config)
		c.OnSend(0, cc.Sent{Bytes: 1000})
		una, now := int64(0), unit.Time(0)
		for _, rtt := range rtts {
			now = ackRound(c, now+rtt, &una, packets(c), gap, rtt)
		}
		return c
	}
	if c := start(0, 100*ms, 100*ms, 100*ms, 100*ms); packets(c) != 160 || c.slowStartEnds {
		t.Errorf("all ACKs at once, same RTT: %d, found %v", packets(c), c.slowStartEnds)
	}
	if c := start(2*ms, 60*ms, 60*ms, 60*ms); !c.slowStartEnds || packets(c) < 16 || packets(c) > 45 {
		t.Errorf("a train of 2 ms gaps over an RTT of 60 ms: %d, found %v", packets(c), c.slowStartEnds)
	}
	if c := start(0, 40*ms, 40*ms, 44*ms, 44*ms); c.slowStartEnds {
		t.Errorf("40 to 44 ms: found at %d", packets(c))
	}
	if c := start(0, 40*ms, 40*ms, 46*ms, 46*ms); !c.slowStartEnds {
		t.Errorf("40 to 46 ms: not found at %d (5 ms are enough)", packets(c))
	}
	if c := start(0, 10*ms, 30*ms); c.slowStartEnds && c.window.Threshold < lowWindow {
		t.Errorf("found below %d packets", lowWindow)
	}
}

// TestHyStart44 follows HyStart of Linux 4.4 by hand, with ACKs 0.5 ms apart over an RTT of 21 ms. The ACK 11 whole
// milliseconds after the start of the round ends slow start, because the half is 10. HyStart of 6.18 allows for a burst
// and ends it 1 ms later, or 0.5 ms later with windows that are sent faster. A round's minimum RTT is the minimum of
// its first eight ACKs.
func TestHyStart44(t *testing.T) {
	ends := func(variant string) (after unit.Time) {
		config := Defaults()
		config.HyStart = variant
		c := New(cctest.NewFlow(1, cctest.SetInitialWindow(40)), config)
		c.OnSend(0, cc.Sent{Bytes: 1000})
		for n := range int64(60) {
			now := 21*ms + unit.Time(n)*500*unit.Microsecond
			c.OnAck(now, &cc.Ack{Packets: 1, Advanced: true, Limited: true, RTT: cc.RTT{Sample: 21 * ms, Smoothed: 21 * ms},
				FirstUnacked: n + 1, Next: 1000})
			if c.slowStartEnds {
				return now - 21*ms
			}
		}
		return unit.Never
	}
	if got := ends(Linux44); got != 11*ms {
		t.Errorf("4.4: after %v, want 11 ms", got)
	}
	if got := ends(LinuxHyStart); got < 11*ms+1 || got > 12*ms {
		t.Errorf("6.18: after %v, want between 11 and 12 ms", got)
	}
	for variant, want := range map[string]bool{Linux44: true, LinuxHyStart: false} {
		t.Run(variant, func(t *testing.T) {
			config := Defaults()
			config.HyStart = variant
			c := New(cctest.NewFlow(1, cctest.SetInitialWindow(40)), config)
			c.OnSend(0, cc.Sent{Bytes: 1000})
			ack := func(n int64, rtt unit.Time) {
				c.OnAck(10*ms*unit.Time(n+1), &cc.Ack{Packets: 1, Advanced: true, Limited: true, FirstUnacked: n + 1, Next: 1000,
					RTT: cc.RTT{Sample: rtt, Smoothed: rtt}})
			}
			c.delayMin = 20 * ms
			for n := range int64(8) {
				ack(n, 30*ms)
			}
			ack(8, 21*ms) // the ninth is short: 6.18 counts it
			if c.slowStartEnds != want {
				t.Errorf("the ninth ACK's RTT is back at 21 ms: found %v, want %v", c.slowStartEnds, want)
			}
		})
	}
}

// TestHyStartPlusPlus checks HyStart++ (RFC 9406 §4.2): a round whose smallest RTT is larger by 1/8, within 4 to 16 ms,
// starts conservative slow start, a quarter as fast. Five such rounds end slow start, and a smaller RTT resumes it.
func TestHyStartPlusPlus(t *testing.T) {
	config := Defaults()
	config.HyStart = PlusPlus
	c := New(cc.Flow{MSS: 1000, InitialWindow: 16, Paced: true}, config)
	una, now := int64(0), unit.Time(0)
	grow := func(rtt unit.Time) float64 {
		before := packets(c)
		now = ackRound(c, now+rtt, &una, before, 0, rtt)
		return float64(packets(c)) / float64(before)
	}
	grow(40 * ms)
	if g := grow(40 * ms); g != 2 {
		t.Errorf("slow start grows by %g", g)
	}
	grow(50 * ms) // found in it
	if !c.plusPlus.conservative {
		t.Fatal("40 to 50 ms does not begin conservative slow start")
	}
	if g := grow(50 * ms); math.Abs(g-1.25) > 0.02 {
		t.Errorf("conservative slow start grows by %g", g)
	}
	if g := grow(41 * ms); c.plusPlus.conservative || g < 1.5 {
		t.Errorf("the RTT is smaller again: conservative %v, growth %g", c.plusPlus.conservative, g)
	}
	grow(60 * ms)
	rounds := 0
	for c.window.InSlowStart() && rounds < 20 {
		grow(60 * ms)
		rounds++
	}
	if rounds < 4 || rounds > 6 {
		t.Errorf("conservative slow start lasts %d rounds more", rounds)
	}
}

// TestHyStartPlusPlusStretched checks L = 8: without pacing an ACK counts for at most eight packets (RFC 9406 §4.3).
func TestHyStartPlusPlusStretched(t *testing.T) {
	config := Defaults()
	config.HyStart = PlusPlus
	c := New(cctest.NewFlow(1, cctest.SetInitialWindow(16)), config)
	c.OnAck(0, &cc.Ack{Packets: 16, Advanced: true, Limited: true, RTT: cc.RTT{Sample: 10 * ms}, Next: 100})
	if packets(c) != 24 {
		t.Errorf("an ACK of 16 packets at 16: %d, want 24", packets(c))
	}
}

func ExampleCubic_CubicWindow() {
	c := New(cc.Flow{MSS: 1000, InitialWindow: 100}, Defaults())
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	c.OnAck(0, &cc.Ack{Packets: 1, Advanced: true, Limited: true})
	fmt.Printf("%.1f %.1f", c.CubicWindow(0), c.CubicWindow(4217*ms)) // K = ∛(30/0.4) = 4.217 s
	// Output: 70.0 100.0
}
