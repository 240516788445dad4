package bbr

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestBBR_ConservationLastsOneRound checks the effect of a policer's rate, loss recovery and idle time on the
// controller.
func TestBBR_ConservationLastsOneRound(t *testing.T) {
	p := &path{b: New(newFlow()), rate: 5000, rtt: 20 * ms}
	p.runUntil(3 * unit.Second)
	b := p.b
	b.policer.bandwidth, b.policer.used = 1000, true
	if b.Bandwidth() != 1000 {
		t.Error("lt_bw is not used")
	}
	b.policer.restartDetection(b.totals)
	// packet conservation lasts one round from its start, and restores
	b.OnLoss(p.now, cc.Loss{Kind: cc.FastRecovery})
	a := cc.Ack{Packets: 1, Advanced: true, Losses: cc.Losses{State: cc.Recovery, New: 5}, Flight: cc.Flight{After: 50,
		Before: 56}, RTT: cc.RTT{Sample: 20 * ms, Smoothed: 20 * ms}}
	send := func(prior int64) {
		p.now += ms
		p.delivered++
		a.Delivered, a.Delivery = p.delivered, cc.Delivery{Packets: 100, Interval: 20 * ms, PriorDelivered: prior}
		b.OnAck(p.now, &a)
	}
	send(p.delivered - 1)
	start := p.delivered
	if b.window != 51 {
		t.Errorf("conservation: %d, want 50 + 1", b.window)
	}
	a.Losses.New = 0
	if send(start - 1); !b.recovery.conservation {
		t.Error("conservation ends before a round is over")
	}
	if send(start); b.recovery.conservation {
		t.Error("conservation does not end after a round")
	}
	a.Losses.New = 3
	if w := b.window; func() bool { send(start); return b.window != w-3+1 }() {
		t.Errorf("three lost, one delivered: %d to %d", w, b.window)
	}
	// idle restart at an RTT expired: no PROBE_RTT, pace at the estimate
	b.probeBW.startNextPhase(p.now)
	b.OnSend(p.now+20*unit.Second, cc.Sent{Idle: 20 * unit.Second, AppLimited: true})
	if r := pacingRate(b.flow.MSS, b.estimateBandwidth(), 1); b.rate != r || !b.idleRestart {
		t.Errorf("restart from idle: %v, want %v", b.rate, r)
	}
	p.now += 20 * unit.Second
	a.Losses.State, a.Losses.New = cc.Open, 0
	if send(start); b.Mode() == ProbeRTT {
		t.Error("PROBE_RTT at a restart from idle")
	}
}
