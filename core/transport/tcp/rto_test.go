package tcp

import (
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestRTTEstimator_FollowsRFC6298 checks RFC 6298 §2 as Linux reads it: the first sample R gives srtt = R and RTO = R +
// max(200 ms, 2R). Constant samples bring RTO to srtt + the floor.
func TestRTTEstimator_FollowsRFC6298(t *testing.T) {
	var r rttEstimator
	r.sample(400*ms, 0, 0, 200*ms)
	if r.srtt != 8*400*ms || r.timeout() != 1200*ms {
		t.Errorf("after one sample of 400 ms: srtt %v, rto %v; RFC 6298 (2.2): 400 ms, 1.2 s", r.srtt/8, r.timeout())
	}
	for i := range int64(200) {
		r.sample(400*ms, i+1, i+1, 200*ms)
	}
	testkit.CheckNear(t, "rto after 200 equal samples [ms]", r.timeout().Seconds()*1e3, 600,
		testkit.Tolerance{Relative: 0.01})
	r = rttEstimator{}
	r.sample(10*ms, 0, 0, 5*ms)
	if r.timeout() != 30*ms {
		t.Errorf("RTO %v, want 10 ms + 4·5 ms", r.timeout())
	}
	// (2.3): srtt = 7/8 srtt + 1/8 R', deviation = 3/4 of it + 1/4 |srtt − R'|
	r.sample(18*ms, 0, 1, 5*ms)
	testkit.CheckNear(t, "srtt [ms]", (r.srtt/8).Seconds()*1e3, 11, testkit.Tolerance{Relative: 0.001})
	testkit.CheckNear(t, "4·deviation [ms]", r.mdev.Seconds()*1e3, 20-5+8, testkit.Tolerance{Relative: 0.001})
}

// TestSender_BacksOffAndGivesUp checks RFC 6298 §5.5: the timeout doubles each time. If all packets are lost, TCP gives
// up after 15 timeouts (tcp_retries2).
func TestSender_BacksOffAndGivesUp(t *testing.T) {
	w := newPipe(t, "reno", 0, func(c *Config) { c.RTOMin = 100 * ms })
	w.runUntil(500 * ms)
	var at []unit.Time
	w.onData = func(p *packet.Packet) (bool, unit.Time) { return false, 0 }
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			at = append(at, w.now)
		}
	}
	w.runUntil(3000 * unit.Second)
	if w.s.phase != closed {
		t.Errorf("it has not given up: %d timeouts", w.s.rto.timeouts)
	}
	n := len(at)
	for i := n - 12; i < n-8; i++ {
		if g, h := at[i]-at[i-1], at[i+1]-at[i]; g < 120*unit.Second/2 && h != 2*g {
			t.Errorf("timeouts %v, then %v", g, h)
		}
	}
	if last := at[n-1] - at[n-2]; last != largestRTO {
		t.Errorf("the last timeout is %v", last)
	}
}

// TestFRTO_DetectsSpuriousTimeout checks RFC 5682: a delay of all packets beyond the RTO is no loss. F-RTO detects that
// with the second ACK, restores the window and resends only the first packet.
func TestFRTO_DetectsSpuriousTimeout(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "bbr"} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, nil)
			w.rate = unit.Gbps
			w.runUntil(100 * ms)
			before := w.s.cwnd()
			hold := w.now + 500*ms // a hand-over: nothing arrives until then
			w.onData = func(p *packet.Packet) (bool, unit.Time) { return true, max(hold-w.now, 0) }
			w.runUntil(w.now + 600*ms)
			if w.s.rto.timeouts == 0 {
				t.Fatalf("%s: no timeout", name)
			}
			if w.s.counters.Retransmitted > 3 {
				t.Errorf("%s: %d packets sent again; want the head, and TLP's", name, w.s.counters.Retransmitted)
			}
			if w.s.state != cc.Open || w.s.cwnd() < before {
				t.Errorf("%s: %v, window %d, before %d", name, w.s.state, w.s.cwnd(), before)
			}
		})
	}
}

// TestRTOBackoff checks RFC 6298 §2 and §5, and the cases in which Linux differs.
func TestRTOBackoff(t *testing.T) {
	t.Run("§2.1: 1 s before the first sample", func(t *testing.T) {
		if r := newRTO(initialRTO); r.value != unit.Second {
			t.Errorf("%v", r.value)
		}
	})
	t.Run("§5.5, §2.5: doubled, up to a bound", func(t *testing.T) {
		r := newRTO(initialRTO)
		for i, want := range []unit.Time{2, 4, 8, 16, 32, 64, 120, 120} {
			if r.expire(); r.value != want*unit.Second || r.retries != i+1 || r.backoff != i+1 {
				t.Errorf("after %d timeouts %+v, want %d s", i+1, r, want)
			}
		}
	})
	t.Run("§5: a new measurement collapses it", func(t *testing.T) {
		var e rttEstimator
		r := newRTO(initialRTO)
		e.sample(50*ms, 0, 0, 200*ms)
		r.expire()
		r.expire()
		if r.follow(&e); r.value != 250*ms || r.backoff != 0 || r.retries != 2 {
			t.Errorf("%+v", r) // retries end with an acknowledgement, not with a sample
		}
	})
	t.Run("§2.5: a bound of at least 60 s", func(t *testing.T) {
		var e rttEstimator
		e.sample(100*unit.Second, 0, 0, 200*ms)
		if got := e.timeout(); got != largestRTO || got < 60*unit.Second {
			t.Errorf("%v", got)
		}
	})
	t.Run("§2.3: a lower RTT hardly moves the deviation", func(t *testing.T) {
		var up, down rttEstimator // Linux: an eighth of the quarter
		up.sample(100*ms, 0, 0, 1)
		down.sample(100*ms, 0, 0, 1)
		up.sample(180*ms, 1, 1, 1)  // 3/4·200 + 80 = 230
		down.sample(20*ms, 1, 1, 1) // 200 + (80 − 50)/8 = 203.75
		if up.mdev != 230*ms || down.mdev != 203_750*unit.Microsecond {
			t.Errorf("4·deviation is %v and %v", up.mdev, down.mdev)
		}
	})
	t.Run("the variance falls once a round trip, by a quarter of the way", func(t *testing.T) {
		e := rttEstimator{srtt: 8 * 100 * ms, mdev: 0, mdevMax: 40 * ms, rttvar: 80 * ms, seq: 1000}
		e.sample(100*ms, 1000, 3000, 20*ms)
		if e.rttvar != 80*ms {
			t.Errorf("within the round: %v", e.rttvar)
		}
		if e.sample(100*ms, 1001, 3000, 20*ms); e.rttvar != 70*ms || e.mdevMax != 20*ms || e.seq != 3000 {
			t.Errorf("at its end: %v, %+v", e.rttvar, e)
		}
	})
}

// TestRTOGivesUp checks when a connection is given up (RFC 9293 §3.8.3), and how its probes and SYNs back off.
func TestRTOGivesUp(t *testing.T) {
	t.Run("RFC 9293 §3.8.3: the connection is given up", func(t *testing.T) {
		r := newRTO(initialRTO)
		for range maxRetries {
			if r.mustGiveUp(false) {
				t.Fatalf("after %d timeouts", r.retries)
			}
			r.expire()
		}
		if !r.mustGiveUp(false) {
			t.Errorf("%d timeouts are not enough", r.retries)
		}
		if r.mustGiveUp(true) || r.retries != 1 { // a peer that answers probes of its closed window lives
			t.Errorf("with a closed window: %+v", r)
		}
	})
	t.Run("SYN: six retransmissions", func(t *testing.T) {
		r := newRTO(initialRTO)
		for i := range synRetries {
			if !r.repeatSYN() || r.value != unit.Second<<(i+1) {
				t.Fatalf("retransmission %d: %+v", i+1, r)
			}
		}
		if r.repeatSYN() {
			t.Errorf("%+v", r)
		}
	})
	t.Run("SYN: sent again after rto_initial, then twice that", func(t *testing.T) {
		for _, initial := range []unit.Time{unit.Second, 10 * ms} {
			var at []unit.Time
			w := newPipe(t, "reno", 3000, func(c *Config) { c.RTOInitial = initial })
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.TCP.Flags&packet.SYN == 0 {
					return true, 0
				}
				at = append(at, w.now)
				return len(at) == 3, 0
			}
			w.runUntil(5 * unit.Second)
			if want := []unit.Time{0, initial, 3 * initial}; !slices.Equal(at, want) || w.s.counters.Finished == unit.Never {
				t.Errorf("SYNs at %v, want %v; finished %v", at, want, w.s.counters.Finished)
			}
		}
	})
	t.Run("RFC 9293 §3.8.6.1: probes of a closed window back off", func(t *testing.T) {
		r := rto{value: 300 * ms}
		for i, want := range []unit.Time{600 * ms, 1200 * ms, 2400 * ms} {
			if got := r.persist(200 * ms); got != want {
				t.Errorf("probe %d after %v, want %v", i, got, want)
			}
		}
		for range 20 {
			r.persist(200 * ms)
		}
		if got := r.persist(200 * ms); got != largestRTO || r.backoff != 16 {
			t.Errorf("%v, %+v", got, r)
		}
	})
}
