package bbr

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestStartup_FullAfterThreeRoundsWithoutGrowth checks draft-cardwell-iccrg-bbr-00 §4.3.2: three rounds with less than
// 25 % more bandwidth fill the pipe.
func TestStartup_FullAfterThreeRoundsWithoutGrowth(t *testing.T) {
	for _, c := range []struct {
		name       string
		bandwidths []float64
		full       bool
	}{
		{"doubling", []float64{10, 20, 40, 80, 160}, false},
		{"a quarter a round is growth", []float64{16, 20, 25, 31.25}, false},
		{"exactly a quarter begins the count anew", []float64{16, 20, 20, 20}, false},
		{"two rounds without", []float64{10, 20, 24, 24}, false},
		{"three rounds without", []float64{10, 20, 24, 24, 24}, true},
		{"growth begins the count anew", []float64{20, 24, 24, 26, 26, 26}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s startup
			for _, b := range c.bandwidths {
				s.checkGrowth(b)
			}
			if s.full != c.full {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("after a timeout any bandwidth is growth", func(t *testing.T) {
		s := startup{bandwidth: 100, rounds: 2}
		s.restartGrowth()
		if s.checkGrowth(1); s.full || s.bandwidth != 1 || s.rounds != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("full stays full", func(t *testing.T) {
		s := startup{full: true}
		s.undoLosses()
		if s.checkGrowth(100); !s.full || s.bandwidth != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestDrain_GainInvertsStartup checks draft-cardwell-iccrg-bbr-00 §4.3.3: the gain is the inverse of startup's, so its
// queue drains within a round.
func TestDrain_GainInvertsStartup(t *testing.T) {
	var s startup
	var d drain
	up, upWindow := s.phaseGains()
	down, window := d.phaseGains()
	if product := up * down; product < 0.98 || product > 1.01 || window != upWindow {
		t.Errorf("the gains are %g and %g, windows %g and %g", up, down, upWindow, window)
	}
	if !d.isDrained(100, 100) || d.isDrained(101, 100) {
		t.Error("it ends when no more than the path holds is in flight")
	}
}

// TestProbeBW checks draft-cardwell-iccrg-bbr-00 §4.3.4: the cycle is 5/4, 3/4 and six times 1, each for the minimum
// round-trip time.
func TestProbeBW(t *testing.T) {
	t.Run("it begins anywhere but in the draining phase", func(t *testing.T) {
		random, begun := unit.NewRandom(1, "bbr"), map[int]int{}
		for range 7000 {
			var p probeBW
			if p.enterCycle(5*ms, random); p.stamp != 5*ms {
				t.Fatalf("%+v", p)
			}
			begun[p.index]++
		}
		for i := range cycleLength {
			if n := begun[i]; i == 1 && n > 0 || i != 1 && (n < 850 || n > 1150) {
				t.Errorf("phase %d begins %d of 7000 times", i, n)
			}
		}
	})
	t.Run("the gains average to 1", func(t *testing.T) {
		var p probeBW
		sum := 0.0
		for range cycleLength {
			gain, window := p.phaseGains(false)
			if sum += gain; window != 2 {
				t.Errorf("the window's gain is %g", window)
			}
			p.startNextPhase(0)
		}
		if sum != cycleLength || p.index != 0 {
			t.Errorf("a cycle's gains add up to %g; then phase %d", sum, p.index)
		}
		if gain, _ := p.phaseGains(true); gain != 1 || !p.isProbing() {
			t.Errorf("with a policer the gain is %g", gain)
		}
	})
	for _, c := range []struct {
		name     string
		since    unit.Time
		gain     float64
		lost     int
		inFlight int
		done     bool
	}{
		{"cruising, not a round yet", 10 * ms, 1, 0, 500, false},
		{"cruising, a round", 10*ms + 1, 1, 0, 0, true},
		{"probing, a round, but little in flight", 11 * ms, 1.25, 0, 99, false},
		{"probing, a round and enough in flight", 11 * ms, 1.25, 0, 100, true},
		{"probing, a round and a loss", 11 * ms, 1.25, 1, 0, true},
		{"probing, enough in flight before a round", 9 * ms, 1.25, 1, 200, false},
		{"draining, the queue is gone", ms, 0.75, 0, 100, true},
		{"draining, a queue", ms, 0.75, 0, 101, false},
		{"draining, a queue, but a round", 11 * ms, 0.75, 0, 500, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := probeBW{stamp: 100 * ms}
			if got := p.isPhaseDone(100*ms+c.since, 10*ms, c.gain, c.lost, c.inFlight, 100); got != c.done {
				t.Errorf("done: %v", got)
			}
		})
	}
}

// TestProbeRTT checks draft-cardwell-iccrg-bbr-00 §4.1.2 and §4.3.5: the minimum lasts for ten seconds. Four packets in
// flight for 200 ms and a round follow.
func TestProbeRTT(t *testing.T) {
	t.Run("the filter", func(t *testing.T) {
		p := newProbeRTT(0)
		if p.addSample(ms, 20*ms, true) || p.minRTT != 20*ms {
			t.Errorf("the first: %+v", p)
		}
		if p.addSample(2*ms, 30*ms, false); p.minRTT != 20*ms || p.stamp != ms {
			t.Errorf("a larger one: %+v", p)
		}
		if p.addSample(3*ms, 0, false); p.minRTT != 20*ms {
			t.Errorf("no sample: %+v", p)
		}
		if p.addSample(minRTTWindow+ms, 30*ms, false) {
			t.Errorf("expired after exactly ten seconds: %+v", p)
		}
		if !p.addSample(minRTTWindow+ms+1, 30*ms, true) || p.minRTT != 20*ms {
			t.Errorf("expired, a delayed ACK: %+v", p)
		}
		if !p.addSample(minRTTWindow+2*ms, 30*ms, false) || p.minRTT != 30*ms || p.stamp != minRTTWindow+2*ms {
			t.Errorf("expired: %+v", p)
		}
	})
	t.Run("the phase", func(t *testing.T) {
		p := newProbeRTT(0)
		p.awaitLowFlight()
		if low, over := p.handleAck(0, 5, true); low || over || p.isTimeOver(unit.Second) {
			t.Errorf("five packets are in flight: %+v", p)
		}
		if low, over := p.handleAck(10*ms, 4, true); !low || over {
			t.Errorf("four: %+v", p)
		}
		if low, over := p.handleAck(300*ms, 4, false); low || over {
			t.Errorf("no round has begun since: %+v", p)
		}
		if _, over := p.handleAck(100*ms, 4, true); over {
			t.Errorf("a round, but not 200 ms: %+v", p)
		}
		if _, over := p.handleAck(210*ms, 4, false); over {
			t.Errorf("exactly 200 ms: %+v", p)
		}
		if _, over := p.handleAck(210*ms+1, 4, false); !over {
			t.Errorf("over: %+v", p)
		}
	})
}

// TestRecovery_ConservesPacketsThenRestores follows bbr_set_cwnd_to_recover_or_restore and bbr_save_cwnd of Linux.
func TestRecovery_ConservesPacketsThenRestores(t *testing.T) {
	ack := func(state cc.RecoveryState, packets, inFlight, lost int) *cc.Ack {
		return &cc.Ack{Packets: packets, Flight: cc.Flight{After: inFlight}, Losses: cc.Losses{State: state, New: lost}}
	}
	var r recovery
	r.saveWindow(100, false)
	w, entered := r.handleAck(100, ack(cc.Recovery, 2, 60, 5))
	if w != 62 || !entered || !r.conservation {
		t.Errorf("packet conservation: %d, %+v", w, r)
	}
	if r.saveWindow(62, false); r.prior != 100 { // in recovery the largest stays
		t.Errorf("saved: %d", r.prior)
	}
	if w, entered = r.handleAck(w, ack(cc.Recovery, 1, 70, 3)); w != 71 || entered {
		t.Errorf("as much goes as comes: %d", w)
	}
	if w, _ = r.handleAck(w, ack(cc.Recovery, 1, 50, 3)); w != 68 {
		t.Errorf("losses: %d, want 71 − 3", w)
	}
	if r.endConservation(); r.conservation {
		t.Error("conservation outlasts its round")
	}
	if w, _ = r.handleAck(w, ack(cc.Open, 1, 50, 0)); w != 100 {
		t.Errorf("restored: %d", w)
	}
	if r.saveWindow(40, true); r.prior != 100 { // PROBE_RTT's own window is none to come back to
		t.Errorf("saved in PROBE_RTT: %d", r.prior)
	}
	r.noteTimeout()
	if w, _ = r.handleAck(1, ack(cc.Open, 1, 0, 0)); w != 100 {
		t.Errorf("after a timeout: %d", w)
	}
	if w, _ = r.handleAck(2, ack(cc.Open, 1, 0, 9)); w != 1 {
		t.Errorf("a packet is the least: %d", w)
	}
}

// TestPolicerFound follows bbr_lt_bw_sampling of Linux: two intervals of four rounds, with a fifth of loss and one
// rate, detect a policer.
func TestPolicerFound(t *testing.T) {
	// interval plays rounds of 100 packets in 20 ms. It loses the given number of packets, and one more.
	interval := func(p *policer, at *totals, rounds int, lost int64, took unit.Time) (found bool) {
		for i := range rounds {
			at.delivered += 100
			at.deliveredAt += took
			at.lost += lost
			n := 0
			if i == rounds-1 {
				n = 1
			}
			found = p.addSample(*at, 1000, n, true, false) || found
		}
		return found
	}
	begin := func() (*policer, *totals) {
		p, at := &policer{}, &totals{}
		p.addSample(*at, 1000, 1, false, false) // a loss begins the first interval
		return p, at
	}
	t.Run("found", func(t *testing.T) {
		p, at := begin()
		if interval(p, at, 4, 25, 20*ms) || p.bandwidth != 5000 {
			t.Fatalf("after the first interval: %+v", p)
		}
		if !interval(p, at, 4, 25, 21*ms) || !p.used || p.bandwidth < 4870 || p.bandwidth > 4890 {
			t.Fatalf("after the second: %+v", p)
		}
		for i := range longTermMaxRounds {
			if over := p.countPolicedRound(); over != (i == longTermMaxRounds-1) {
				t.Errorf("after %d rounds: %v", i+1, over)
			}
		}
	})
	t.Run("too little loss", func(t *testing.T) {
		p, at := begin()
		if interval(p, at, 4, 19, 20*ms); p.bandwidth != 0 { // 50/256 are 19.5 %
			t.Errorf("%+v", p)
		}
	})
	t.Run("another rate", func(t *testing.T) {
		p, at := begin()
		interval(p, at, 4, 25, 20*ms)
		if interval(p, at, 4, 25, 30*ms) || p.used {
			t.Errorf("%+v", p)
		}
	})
	t.Run("too long", func(t *testing.T) {
		p, at := begin()
		if interval(p, at, 17, 0, 20*ms); p.sampling {
			t.Errorf("%+v", p)
		}
	})
	t.Run("limited by the application", func(t *testing.T) {
		p, at := begin()
		if p.addSample(*at, 1000, 1, true, true) || p.sampling {
			t.Errorf("%+v", p)
		}
	})
}

// TestAggregation_BoundsAndForgetsExtraPackets follows bbr_update_ack_aggregation of Linux.
func TestAggregation_BoundsAndForgetsExtraPackets(t *testing.T) {
	var g aggregation
	g.startEpoch(0)
	g.addAck(ms, 1, 1000, false, 100) // one in 1 ms at 1000/s
	if g.extraPackets() != 1 {
		t.Errorf("%+v", g)
	}
	g.addAck(2*ms, 40, 1000, false, 100) // 40 at once
	if g.extraPackets() != 40 {
		t.Errorf("40 at once, one expected: %+v", g)
	}
	if g.addAck(3*ms, 90, 1000, false, 50); g.extraPackets() != 50 {
		t.Errorf("the window is a bound: %+v", g)
	}
	for range 2*extraRounds - 1 { // the half that holds it lasts at most ten rounds
		g.addAck(unit.Second, 0, 1000, true, 100)
	}
	if g.extraPackets() == 0 {
		t.Errorf("forgotten within ten rounds: %+v", g)
	}
	if g.addAck(unit.Second, 0, 1000, true, 100); g.extraPackets() != 0 {
		t.Errorf("after ten rounds: %+v", g)
	}
}
