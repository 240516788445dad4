package hpcc

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestMinRate checks that MinRate bounds the window from below: for any load, W and Wc stay at MinRate·T.
func TestMinRate(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.MinRate, c.WAI = gbps, 0 })
	for i := range int64(20) {
		now := unit.Time(i) * 10 * us
		ack(s, now, i+1, i+1, hop(1, now, uint64(i)*125_000, 10_000_000)) // 80 B·T wait: each round trip divides W
	}
	if st, d := s.State(), s.Decision(); st.W != 1250 || st.Wc != 1250 || d.Rate != gbps {
		t.Errorf("%+v, rate %v; want a window of 1250 B", st, d.Rate)
	}
}

// TestIncreaseWithoutNICRate checks that without the NIC's rate W_init is unknown. W_ai is as configured until records
// give the path's slowest rate, and then by the rule of draft-miao §5.
func TestIncreaseWithoutNICRate(t *testing.T) {
	f := newFlow()
	f.NICRate = 0
	s := newSender(t, f, func(c *Config) { c.N = 5 })
	testkit.CheckNear(t, "W_ai without a rate", s.State().WAI, float64(standardWAI), rounding)
	slow := hop(2, 0, 0, 0)
	slow.Rate = 10 * gbps
	ack(s, 0, 1000, 2000, hop(1, 0, 0, 0), slow)
	testkit.CheckNear(t, "W_ai at 10 Gb/s", s.State().WAI, 12_500*0.05/5, rounding)
}

// TestReportedIncreaseNeedsLastHop checks that the number of flows at the receiver counts while the last hop is the
// bottleneck. With hops that found no room for their records, the last record is not of the last hop.
func TestReportedIncreaseNeedsLastHop(t *testing.T) {
	for missed, want := range map[uint8]float64{0: 125_000 * 0.05 / 10, 1: float64(standardWAI)} {
		s := newSender(t, newFlow(), func(c *Config) { c.Census = true })
		for i := range int64(3) {
			now := unit.Time(i) * 10 * us
			s.OnAck(now, &cc.Ack{FirstUnacked: i + 1, Next: i + 1, Feedback: cc.Feedback{Flows: 10},
				Telemetry: cc.Telemetry{MissedHops: missed, Hops: []telemetry.Hop{hop(1, now, uint64(i)*125_000, 50_000)}}})
		}
		testkit.CheckNear(t, fmt.Sprint("W_ai with ", missed, " hops missed"), s.State().WAI, want, rounding)
	}
}

// TestPathsPerHopTurns checks mode per_hop of a flow with few packets in T. A path that was not seen for a T holds the
// window until each of the others can have had two turns.
func TestPathsPerHopTurns(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.Mode, c.WAI = PerHop, 0 })
	now, bytes, seq := unit.Time(0), [2]uint64{}, int64(0)
	report := func(path int, load float64) {
		now, seq = now+25*us, seq+1000
		bytes[path] += uint64(load * 12.5 * float64(25*us/ns))
		ack(s, now, seq, seq, hop(uint32(10+path), now, bytes[path], 0))
	}
	for range 2 {
		report(0, 0.3)
	}
	report(1, 2)
	report(1, 2)
	heavy := s.paths.more[0].known.w
	if heavy > 0.5*s.maxWindow {
		t.Fatalf("the heavy path's window is %g of %g", heavy, s.maxWindow)
	}
	for turn := range 6 { // of two paths: four turns
		if report(0, 0.3); (s.w == heavy) != (turn < 4) {
			t.Errorf("turn %d of the light path: W is %g, the heavy path's is %g", turn+1, s.w, heavy)
		}
	}
}
