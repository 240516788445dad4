package bbr

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestECNThenLoss checks that bbr_ssthresh also runs when CWR starts (tcp_enter_cwr → tcp_init_cwnd_reduction).
func TestECNThenLoss(t *testing.T) {
	p := &path{b: New(newFlow()), rate: 5000, rtt: 20 * ms}
	p.runUntil(3 * unit.Second)
	b, w := p.b, p.b.window
	b.OnLoss(p.now, cc.Loss{Kind: cc.ECNEcho}) // CWR; then loss in CWR: no second call by the transport, as in Linux
	ack := func(s cc.RecoveryState, lost int) {
		p.now += ms
		p.delivered++
		b.OnAck(p.now, &cc.Ack{Packets: 1, Advanced: true, Delivered: p.delivered, Losses: cc.Losses{State: s, New: lost},
			Flight: cc.Flight{After: 20, Before: 21}, RTT: cc.RTT{Sample: 20 * ms, Smoothed: 20 * ms}})
	}
	ack(cc.Reduced, 0)
	ack(cc.Recovery, 80)
	mid := b.window
	ack(cc.Open, 0)
	t.Logf("before %d, in recovery %d, after %d", w, mid, b.window)
	if b.window < w-10 {
		t.Errorf("after recovery the window is %d, before it was %d", b.window, w)
	}
}

func TestLongTermRTO(t *testing.T) {
	p := &path{b: New(newFlow()), rate: 5000, rtt: 20 * ms}
	p.runUntil(1 * unit.Second)
	b := p.b
	// sampling starts with a loss
	b.OnLoss(p.now, cc.Loss{Kind: cc.FastRecovery, LostTotal: 10})
	a := func(lost int64, total int64, dt unit.Time, n int64) {
		p.now += dt
		p.delivered += n
		b.OnAck(p.now, &cc.Ack{Packets: int(n), Advanced: true, Delivered: p.delivered, Losses: cc.Losses{Total: total,
			New: int(lost)},
			Flight: cc.Flight{After: 50, Before: 50}, RTT: cc.RTT{Sample: 20 * ms, Smoothed: 20 * ms},
			Delivery: cc.Delivery{Packets: 100, Interval: 20 * ms, PriorDelivered: p.delivered - 100}})
	}
	a(10, 10, ms, 1)
	for range 6 {
		a(0, 10, 20*ms, 100)
	} // 600 packets in 120 ms
	rto := p.now + unit.Second
	b.OnLoss(rto, cc.Loss{Kind: cc.RetransmissionTimeout, LostTotal: 210})
	t.Logf("lt_bw %.0f, count %d", b.policer.bandwidth, b.policer.rounds)
	if b.policer.bandwidth < 4900 {
		t.Errorf("600 packets were delivered in 120 ms, 5000/s; lt_bw is %.0f/s", b.policer.bandwidth)
	}
}

func TestMinRTTHandshake(t *testing.T) {
	b := New(newFlow())
	b.OnAck(50*ms, &cc.Ack{Packets: 1, Advanced: true, Delivered: 2, RTT: cc.RTT{Sample: 50 * ms, Smoothed: 24 * ms,
		Min: 20 * ms},
		Flight:   cc.Flight{After: 9, Before: 10},
		Delivery: cc.Delivery{Packets: 1, Interval: 50 * ms, PriorDelivered: 1}})
	if b.probeRTT.minRTT != 20*ms {
		t.Errorf("min RTT %v; bbr_init takes tcp_min_rtt, 20 ms", b.probeRTT.minRTT)
	}
}

// TestProbeRTTPrior checks that bbr_save_cwnd runs after the change of mode: an earlier saved window remains if it is
// larger.
func TestProbeRTTPrior(t *testing.T) {
	b := New(newFlow())
	b.recovery.prior = 300
	b.window = 10
	b.probeRTT.minRTT, b.probeRTT.stamp = 20*ms, 0
	b.updateMinRTT(11*unit.Second, &cc.Ack{RTT: cc.RTT{Sample: 20 * ms}, Flight: cc.Flight{After: 9}})
	if b.recovery.prior != 300 || b.mode != ProbeRTT {
		t.Errorf("the saved window is %d, mode %v", b.recovery.prior, b.mode)
	}
}
