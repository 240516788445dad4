package dualpi2

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// judged is DualPI2 with a given base probability when a packet departs, where a little more than a tenth is missing
// until a packet is due in either queue.
type judged struct {
	*program
	base float64
}

func (j *judged) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	s := &j.states[p.Meta.Out]
	s.probability, s.dueCounts = j.base, [2]float64{0.85, 0.85}
	return j.program.Release(env, p)
}

// TestProgram_DropsScalableInOverload checks RFC 9332 appendix A.2 with k 2: the classic queue's probability is the
// base's square. From 1/k², a quarter, on, all due packets are dropped. There the scalable queue's probability, twice
// the base, is 1, and it drops by the square, too.
func TestProgram_DropsScalableInOverload(t *testing.T) {
	for _, x := range []struct {
		name string
		base float64
		tos  uint8
		want string
	}{
		{"classic below", 0.49, packet.NotECT, "dropped"}, {"classic with ECN below", 0.49, packet.ECT0, "marked"},
		{"classic with ECN at", 0.5, packet.ECT0, "dropped"}, {"classic with ECN above", 0.51, packet.ECT0, "dropped"},
		{"classic, not due", 0.3, packet.NotECT, "sent"},
		{"scalable below", 0.49, packet.ECT1, "marked"}, {"scalable at", 0.5, packet.ECT1, "dropped"},
		{"scalable, not due", 0.05, packet.ECT1, "sent"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := ports(2, 12*unit.Mbps, 10*ms)
			program, ok := build(t)(s.NewSite())[0].(*program)
			if !ok {
				t.Fatal("DualPI2 is another program")
			}
			s.Programs = []dataplane.Program{&judged{program, x.base}}
			got := dataplanetest.RunSorted(t, s, []dataplanetest.Arrival{{At: ms, Dst: 2, Payload: 1458, TOS: x.tos}})
			outcome := "sent"
			if got.Drops[dataplane.EarlyDrop] > 0 {
				outcome = "dropped"
			} else if got.Departures[0].TOS == packet.CE {
				outcome = "marked"
			}
			if outcome != x.want {
				t.Errorf("%s, want %s", outcome, x.want)
			}
		})
	}
}

// TestConfig_DerivesUpdateAndGains checks RFC 9332 appendix A: an update runs every target, or every third of the
// longest round trip if that is less. Alpha is 0.1·update/max_rtt² and beta 0.3/max_rtt: 0.1·0.010/0.030² = 1.111 and
// 0.3/0.030 = 10.
func TestConfig_DerivesUpdateAndGains(t *testing.T) {
	for _, x := range []struct {
		target, rtt string
		update      unit.Time
		alpha, beta float64
	}{{"15ms", "100ms", 15 * ms, 0.15, 3}, {"15ms", "45ms", 15 * ms, 0.7407407407407407, 6.666666666666667},
		{"15ms", "30ms", 10 * ms, 1.1111111111111112, 10}, {"1ms", "300us", 100 * unit.Microsecond, 111.11111111111111,
			1000}} {
		t.Run(x.target+" "+x.rtt, func(t *testing.T) {
			c := readConfig(t, "target", x.target, "max_rtt", x.rtt)
			rounding := testkit.Tolerance{Relative: 1e-9}
			if c.Update != x.update || !testkit.IsNear(c.Alpha, x.alpha, rounding) ||
				!testkit.IsNear(c.Beta, x.beta, rounding) {
				t.Errorf("update %v, alpha %v, beta %v; want %v, %v, %v", c.Update, c.Alpha, c.Beta, x.update, x.alpha, x.beta)
			}
		})
	}
}
