package tcp

import (
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestPRR_ReducesInProportion checks RFC 9937: over a recovery the sender halves (Reno) or reduces by 30 % (CUBIC) in
// proportion to the delivered data, without a burst, and without a pause longer than a few packets.
func TestPRR_ReducesInProportion(t *testing.T) {
	for name, share := range map[string]float64{"reno": 0.5, "cubic": 0.7} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, func(c *Config) { c.Bursts, c.Autotuning, c.CompressedACK = false, false, 0 })
			w.rate, w.limit = 100*unit.Mbps, 0
			w.delay = 25 * ms
			w.runUntil(400 * ms)
			dropped := false
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 && !dropped {
					dropped = true
					return false, 0
				}
				return true, 0
			}
			for w.s.state != cc.Recovery && w.step(unit.Second) {
			}
			before, delivered, sent := w.s.prr.prior, w.s.rate.Delivered, 0
			most, burst, at := 0, 0, unit.Time(0)
			w.emitted = func(p *packet.Packet) {
				if burst++; w.now-at > 100*unit.Microsecond {
					burst, at = 1, w.now
				}
				sent++
				most = max(most, burst)
			}
			for w.s.state == cc.Recovery && w.step(unit.Second) {
				if d := int(w.s.rate.Delivered - delivered); d > 10 && w.s.inFlight() > w.s.prr.window+1 {
					t.Fatalf("%s: %d in flight, PRR allows %d", name, w.s.inFlight(), w.s.prr.window)
				}
			}
			d := float64(w.s.rate.Delivered - delivered)
			testkit.CheckNear(t, name+": packets sent in recovery", float64(sent), d*share, testkit.Tolerance{Relative: 0.1})
			testkit.CheckNear(t, name+": window after it", float64(w.s.cwnd()), share*float64(before),
				testkit.Tolerance{Relative: 0.05})
			if most > 5 {
				t.Errorf("%s: a burst of %d packets", name, most)
			}
		})
	}
}

// TestPRRText checks RFC 9937 §6, line by line. RecoverFS is 20 packets, ssthresh 10.
func TestPRRText(t *testing.T) {
	for _, c := range []struct {
		name               string
		state              prr // before the ACK
		delivered, flight  int
		safe               bool
		window             int // after it
		prrDelivered, sent int
	}{
		// "Force a fast retransmit upon entering recovery": SndCnt is one at least.
		{"entering", prr{prior: 20}, 1, 17, false, 18, 1, 0},
		{"entering, with more in flight than the proportion allows", prr{prior: 20}, 1, 30, false, 31, 1, 0},
		{"entering at the target", prr{prior: 20}, 1, 10, false, 11, 1, 0},
		// inflight > ssthresh: SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) − prr_out
		{"proportional, on the odd ACK", prr{prior: 20, delivered: 2, out: 1}, 1, 16, true, 17, 3, 1},
		{"proportional, on the even ACK", prr{prior: 20, delivered: 3, out: 2}, 1, 16, true, 16, 4, 2},
		{"proportional, of an ACK for many", prr{prior: 20, delivered: 4, out: 2}, 6, 11, true, 14, 10, 2},
		{"proportional, too much was sent", prr{prior: 20, delivered: 1, out: 9}, 1, 15, true, 15, 2, 9},
		// else, PRR-CRB: limit = MAX(prr_delivered − prr_out, DeliveredData)
		{"below, conserving packets", prr{prior: 20, delivered: 8, out: 8}, 1, 4, false, 5, 9, 8},
		{"below, with what was not sent before", prr{prior: 20, delivered: 8, out: 4}, 1, 2, false, 7, 9, 4},
		{"below, more was sent than delivered", prr{prior: 20, delivered: 8, out: 12}, 2, 4, false, 6, 10, 12},
		// PRR-SSRB: "if (SafeACK) limit += MSS"
		{"below, after a good ACK", prr{prior: 20, delivered: 8, out: 8}, 1, 4, true, 6, 9, 8},
		// SndCnt = MIN(ssthresh − inflight, limit)
		{"below, near the target", prr{prior: 20, delivered: 8, out: 2}, 2, 9, true, 10, 10, 2},
		{"at the target", prr{prior: 20, delivered: 8, out: 2}, 2, 10, true, 10, 10, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.state
			p.updateOnAck(c.delivered, c.flight, 10, c.safe)
			if p.window != c.window || p.delivered != c.prrDelivered || p.out != c.sent || p.prior != 20 {
				t.Errorf("%+v after %d delivered, %d in flight; want window %d, delivered %d", p, c.delivered, c.flight,
					c.window, c.prrDelivered)
			}
		})
	}
	t.Run("no delivery is no clock", func(t *testing.T) {
		p := prr{window: 7, prior: 20, delivered: 3, out: 1}
		before := p
		if p.updateOnAck(0, 12, 10, true); p != before {
			t.Errorf("%+v, was %+v", p, before)
		}
	})
	t.Run("after the end nothing moves", func(t *testing.T) {
		p := prr{window: 7, prior: 20}
		p.end()
		if p.updateOnAck(3, 5, 10, true); p.window != 7 || p.delivered != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// TestPRRConverges checks the promise of RFC 9937 for any losses of a window of RecoverFS: by the end of a round trip
// the flight is at ssthresh, and never above the previous flight. Without a delivery, only the fast retransmission and
// the packet of each SafeACK are sent.
func TestPRRConverges(t *testing.T) {
	random := unit.NewRandom(1, "prr")
	for range 2000 {
		prior := 2 + random.IntN(200)
		target := max(1, prior*(3+random.IntN(7))/10)
		lost := 1 + random.IntN(prior-1)
		var p prr
		p.start(prior)
		flight, safe := prior-lost, 0
		for i := range prior - lost { // one ACK for each that arrives
			flight--
			good := random.IntN(4) > 0
			if good {
				safe++
			}
			p.updateOnAck(1, flight, target, good)
			for flight < p.window {
				p.sent()
				flight++
			}
			if p.out > p.delivered+safe+1 || flight > prior {
				t.Fatalf("%d of %d lost, target %d, ACK %d: %d sent for %d delivered, %d in flight", lost, prior, target, i,
					p.out, p.delivered, flight)
			}
			if flight > target && p.out > (p.delivered*target+prior-1)/prior+1 {
				t.Fatalf("%d of %d lost, target %d, ACK %d: %d sent, out of proportion", lost, prior, target, i, p.out)
			}
		}
		if flight > target+1 {
			t.Fatalf("%d of %d lost: %d in flight after a round trip, target %d", lost, prior, flight, target)
		}
	}
}
