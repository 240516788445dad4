package tcp

import (
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// throughput measures packets a round trip of one flow under random loss, over the given number of losses, without a
// bottleneck.
func throughput(t *testing.T, controller string, p float64, losses int) (perRTT float64, w *pipe) {
	w = newPipe(t, controller, 0, func(c *Config) { c.Autotuning = false })
	w.unchecked = true
	w.rate, w.nic, w.limit = 100*unit.Gbps, 100*unit.Gbps, 0
	w.delay = 50 * ms
	random := unit.NewRandom(7, "loss")
	lost := 0
	w.onData = func(x *packet.Packet) (bool, unit.Time) {
		if x.Payload > 0 && random.Float64() < p {
			lost++
			return false, 0
		}
		return true, 0
	}
	for w.now < 20*unit.Second || lost < losses/20 { // slow start does not count
		w.runUntil(w.now + unit.Second)
	}
	b, from := w.r.counters.ReceivedBytes, w.now
	lost = 0
	for lost < losses {
		w.runUntil(w.now + unit.Second)
	}
	return float64(w.r.counters.ReceivedBytes-b) / 1448 / ((w.now - from).Seconds() / 0.1), w
}

// TestRenoUnderLoss follows Mathis, Semke, Mahdavi, Ott (1997), with random losses and a growth of a packet per window:
// 1.31/√p packets a round trip.
func TestRenoUnderLoss(t *testing.T) {
	underLoss(t, 5e-3)
}

func underLoss(t *testing.T, points ...float64) {
	for _, p := range points {
		got, w := throughput(t, "reno", p, 2000)
		want := 1.31 / math.Sqrt(p)
		t.Logf("p = %g: %.1f packets a round trip, %.1f expected (%+.1f %%), %d timeouts", p, got, want, 100*(got/want-1),
			w.s.rto.timeouts)
		if math.Abs(got/want-1) > 0.15 {
			t.Errorf("p = %g: %.1f packets a round trip, want %.1f ± 15 %%", p, got, want)
		}
	}
}

// TestRenoUnderHeavyLoss follows Padhye, Firoiu, Towsley, Kurose (1998), equation 32, with b = 1: beyond 1 % timeouts
// matter. Their TCP has no SACK and times out when fewer than three duplicates arrive. RACK and TLP avoid almost all
// timeouts, so at 10 % the result is between them and 1.31/√p.
func TestRenoUnderHeavyLoss(t *testing.T) {
	for p, share := range map[float64]float64{0.01: 0.15, 0.02: 0.15, 0.05: 0.2, 0.1: 0.6} {
		got, w := throughput(t, "reno", p, 2000)
		rtt, rto := 0.1, 0.3
		want := rtt / (rtt*math.Sqrt(2*p/3) + rto*min(1, 3*math.Sqrt(3*p/8))*p*(1+32*p*p))
		t.Logf("p = %g: %.2f packets a round trip, PFTK %.2f, 1.31/√p %.2f, %d timeouts", p, got, want, 1.31/math.Sqrt(p),
			w.s.rto.timeouts)
		if math.Abs(got/want-1) > share || got > 1.31/math.Sqrt(p) {
			t.Errorf("p = %g: %.2f packets a round trip, PFTK %.2f ± %g %%, at most %.2f", p, got, want, 100*share,
				1.31/math.Sqrt(p))
		}
	}
}
