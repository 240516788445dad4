package hpcc_test

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/outcome"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/sim"
)

// What the fluid theory of Appendix A promises (theory_test.go), beside packets. The experiments capture, fairness,
// fairness-beside, convergence, parking-lot, mixed-nics, clocks and every-nth show the same at length.

// seen is a sender that keeps what it committed.
type seen struct {
	*hpcc.Sender
	n            int
	load, window float64 // sums of ln(U/eta) and of W
	eta          float64
	from         unit.Time
}

func (s *seen) OnAck(now unit.Time, a *cc.Ack) {
	before := s.State().LastUpdateSeq
	s.Sender.OnAck(now, a)
	if x := s.State(); x.LastUpdateSeq != before && now >= s.from {
		s.n++
		s.load += math.Log(x.U / s.eta)
		s.window += x.Wc
	}
}

// observed makes a run's configuration; its flows' senders, in their order, keep what they commit from a time on.
func observed(t *testing.T, text string, from unit.Time) (*sim.Config, *[]*seen) {
	t.Helper()
	all := &[]*seen{}
	r := registry()
	r.Controllers = []cc.Scheme{cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "hpcc", Doc: "observed", Source: "Weir"}, OwnRecovery: true,
		Telemetry: telemetry.HopRecords}, func(f cc.Flow, c hpcc.Config) (*seen, error) {
		s, err := hpcc.New(f, c)
		x := &seen{Sender: s, eta: c.Eta, from: from}
		*all = append(*all, x)
		return x, err
	})}
	s := plantest.Load(t, r, text, experiment.Options{})
	*all = nil // those of the trial
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return c, all
}

// star is four flows to one host.
func star(law string) string {
	return fmt.Sprintf(`
duration: 30ms
topology: {star: {hosts: 5, rate: 100Gbps, delay: 1us}}
framing: hpcc
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic:
  - {name: x, from: [h0, h1, h2, h3], to: h4, transport: rdma, cc: {hpcc: {preset: simulator, %s}},
     start: 0s..10us}`, law)
}

// TestTheory_SmallIncreaseLetsFlowCaptureLink checks that the fluid's flows see one U, and their windows become equal,
// by e in 2.3 ms with 25 B. Packets of four flows arrive in patterns: at its updates the flow that has captured the
// link sees a load some thousandths below the others'. Each settles at its own U: ln(U/eta) is W_ai/W in the mean.
// W_ai/W is that small with 25 B; with 80 B it is not, and windows are equal.
func TestTheory_SmallIncreaseLetsFlowCaptureLink(t *testing.T) {
	for _, x := range []struct {
		law      string
		wai      float64
		captured bool
	}{{"eta: 99%, w_ai: 25 B", 25, true}, {"eta: 99%, w_ai: 80 B", 80, false}} {
		t.Run(x.law, func(t *testing.T) {
			c, all := observed(t, star(x.law), 15*ms)
			if _, err := sim.Run(c); err != nil {
				t.Fatal(err)
			}
			sum, squares, most, least, at := 0.0, 0.0, 0.0, math.Inf(1), [2]float64{}
			for i, s := range *all {
				w, u := s.window/float64(s.n), s.load/float64(s.n)
				t.Logf("flow %d: %d updates, W %.0f, ln(U/eta) %.5f, W_ai/W %.5f", i, s.n, w, u, x.wai/w)
				if math.Abs(u/(x.wai/w)-1) > 0.15 {
					t.Errorf("flow %d: ln(U/eta) is %.5f, W_ai/W %.5f", i, u, x.wai/w)
				}
				sum, squares = sum+w, squares+w*w
				if w > most {
					most, at[0] = w, u
				}
				if w < least {
					least, at[1] = w, u
				}
			}
			if jain := sum * sum / squares / 4; x.captured && jain > 0.9 || !x.captured && jain < 0.99 {
				t.Errorf("Jain's index of the windows is %.3f", jain)
			}
			if x.captured && at[1]-at[0] < 0.001 {
				t.Errorf("the largest window sees %.5f, the smallest %.5f", at[0], at[1])
			}
		})
	}
}

// lot is a chain of three links of these rates, one flow over all and others over one each.
func lot(first, second, third, nic, rivals, tele, law string) string {
	return fmt.Sprintf(`
duration: 8ms
topology:
  hosts: [a, b, c, d, e, f, x, y, z]
  switches: [s0, s1, s2, s3]
  links:
    - {ends: [s0, s1], rate: %s, delay: 1us}
    - {ends: [s1, s2], rate: %s, delay: 1us}
    - {ends: [s2, s3], rate: %s, delay: 1us}
    - {ends: [a, s0], rate: %[4]s, delay: 1us}
    - {ends: [b, s0], rate: %[4]s, delay: 1us}
    - {ends: [c, s1], rate: %[4]s, delay: 1us}
    - {ends: [x, s1], rate: %[4]s, delay: 1us}
    - {ends: [d, s2], rate: %[4]s, delay: 1us}
    - {ends: [e, s2], rate: %[4]s, delay: 1us}
    - {ends: [f, s2], rate: %[4]s, delay: 1us}
    - {ends: [y, s2], rate: %[4]s, delay: 1us}
    - {ends: [z, s3], rate: %[4]s, delay: 1us}
framing: hpcc
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, %[6]s]}}
traffic:
  - {name: long, from: a, to: z, transport: rdma, cc: {hpcc: {preset: simulator, %[7]s}}, start: 0s..10us}
  - {name: one, from: b, to: x, transport: rdma, cc: {hpcc: {preset: simulator, %[7]s}}, start: 0s..10us}
  - {name: two, from: c, to: y, transport: rdma, cc: {hpcc: {preset: simulator, %[7]s}}, start: 0s..10us}
  - {name: rivals, from: %[5]s, to: z, transport: rdma, cc: {hpcc: {preset: simulator, %[7]s}}, start: 0s..10us}`,
		first, second, third, nic, rivals, tele, law)
}

// lotOf runs it and returns the long flow's goodput and the middle link's load, of the second half, and what the long
// flow saw there: the mean of U at its updates.
func lotOf(t *testing.T, text string) (long, middle, saw float64) {
	t.Helper()
	c, all := observed(t, text, 4*ms)
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: 0, Every: 4 * ms},
		outcome.Watch{What: outcome.SentBytes, Index: 2, Every: 4 * ms})
	r := plantest.Simulate(t, c)
	of := func(k int) float64 { return float64(r.Watched[k][2]-r.Watched[k][1]) * 8 / (4 * ms).Seconds() }
	s := (*all)[0]
	return of(0), of(1) / float64(c.Wiring.Network.Links[1].Rate.Bits), s.eta * math.Exp(s.load/float64(s.n))
}

// TestParkingLot checks that one register for the path uses the maximum of the hops' momentary loads (line 6), and its
// mean is above any hop's mean. So the long flow of a parking lot yields on links with loads below its U, and has a
// fraction of the max-min share that a register per hop gives it.
func TestParkingLot(t *testing.T) {
	for _, x := range []struct {
		name, first, second, third, rivals string
		share                              float64 // max-min, in bit/s of payload
	}{
		{"equal", "100Gbps", "100Gbps", "100Gbps", "d", 50e9 * payloadShare},
		{"mixed", "50Gbps", "100Gbps", "25Gbps", "[d, e, f]", 6.25e9 * payloadShare},
	} {
		t.Run(x.name, func(t *testing.T) {
			one, middle, saw := lotOf(t, lot(x.first, x.second, x.third, "100Gbps", x.rivals, "telemetry", "n: 100"))
			each, full, _ := lotOf(t, lot(x.first, x.second, x.third, "100Gbps", x.rivals, "telemetry", "n: 100, mode: per_hop"))
			t.Logf("one register: %.3f of the share, a middle link at %.3f where the flow sees %.3f; per hop: %.3f, %.3f",
				one/x.share, middle, saw, each/x.share, full)
			if one > 0.5*x.share || each < 0.7*x.share || each > 1.25*x.share {
				t.Errorf("the long flow has %.3f and %.3f of its share", one/x.share, each/x.share)
			}
			if middle > 0.94 || saw < middle+0.01 || full < 0.945 {
				t.Errorf("the middle link is at %.3f, the long flow sees %.3f; per hop it is at %.3f", middle, saw, full)
			}
		})
	}
}

// TestCoarseUnitsOnALot checks that coarse units make each hop's momentary load noisier, and their maximum larger, as
// the warning of them states (experiment.TestCoarseUnits).
func TestCoarseUnitsOnALot(t *testing.T) {
	for _, x := range []struct {
		first, second, third, nic, rivals string
		multi                             int64
		cost                              float64
	}{
		{"50Gbps", "100Gbps", "25Gbps", "100Gbps", "[d, e, f]", 4, 0.015},
		{"100Gbps", "100Gbps", "100Gbps", "100Gbps", "d", 16, 0.15},
	} {
		t.Run(fmt.Sprintf("%s, %s, %s with multi: %d", x.first, x.second, x.third, x.multi), func(t *testing.T) {
			load := func(multi int64) float64 {
				_, middle, _ := lotOf(t, lot(x.first, x.second, x.third, x.nic, x.rivals,
					fmt.Sprintf("{telemetry: {multi: %d}}", multi), "w_ai: 80 B, t: 13us"))
				return middle
			}
			if fine, coarse := load(1), load(x.multi); fine-coarse < x.cost {
				t.Errorf("the middle link is at %.3f, and at %.3f with multi: 1", coarse, fine)
			} else {
				t.Logf("the middle link is at %.3f, and at %.3f with multi: 1", coarse, fine)
			}
		})
	}
}

// TestConvergencePredicted checks that the predictions next to the experiment's values follow appendix A's formula
// (predictedUpdates), with the path's T.
func TestConvergencePredicted(t *testing.T) {
	src, err := library().OpenExperiment("hpcc/convergence")
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, library(), src, experiment.Options{})
	for _, p := range s.Points() {
		t.Run(measure.PointName(p.Coordinates()), func(t *testing.T) {
			m := p.Measured()
			rtt := m.Path(p.Flow(0).Src, p.Flow(0).Dst, &m.Traffic[0]).BaseRTT.Seconds()
			want := 1.19 * (1 + p.Coordinates()[1].Value*0.95/(5*0.05)) * rtt
			v, ok := s.PaperValue(p.Coordinates(), "time_to_fairness", "")
			if !ok || math.Abs(v.Value/want-1) > 0.02 {
				t.Errorf("the experiment has %v, want %v", v.Value, want)
			}
		})
	}
}

// TestPacketsConverge checks that a flow that joins four others has its fifth after as many round trips as appendix A
// predicts, also at four times the rate, and with ten times the delay.
func TestPacketsConverge(t *testing.T) {
	for _, x := range []struct {
		rate, delay string
		n           int
		rtt, every  unit.Time
	}{{"100Gbps", "1us", 5, 4200 * ns, 20 * us}, {"100Gbps", "1us", 20, 4200 * ns, 20 * us},
		{"400Gbps", "1us", 20, 4100 * ns, 20 * us}, {"100Gbps", "10us", 5, 40200 * ns, 100 * us}} {
		t.Run(fmt.Sprintf("%s, %s, n: %d", x.rate, x.delay, x.n), func(t *testing.T) {
			r := runNetwork(t, fmt.Sprintf(`
duration: %v
topology: {star: {hosts: 6, rate: %s, delay: %s}}
framing: hpcc
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic:
  - {name: early, from: [h0, h1, h2, h3], to: h5, transport: rdma, cc: {hpcc: {preset: simulator, n: %d}},
     start: 0s..2us}
  - {name: late, from: h4, to: h5, transport: rdma, cc: {hpcc: {preset: simulator, n: %[4]d}},
     start: %v}`, 150*x.every, x.rate, x.delay, x.n, 75*x.every), func(c *sim.Config) {
				for i := range c.Flows {
					c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: i, Every: x.every})
				}
			})
			fair := 0
			for k := 149; k >= 75; k-- { // the last interval whose shares are unequal
				sum, squares := 0.0, 0.0
				for _, w := range r.Watched {
					got := float64(w[k+1] - w[k])
					sum, squares = sum+got, squares+got*got
				}
				if sum*sum/squares/5 < 0.95 {
					fair = k + 1 - 75
					break
				}
			}
			took := float64(fair) * float64(x.every)
			want := 1.19 * (1 + float64(x.n)*0.95/(5*0.05)) * float64(x.rtt)
			t.Logf("%.0f us, predicted %.0f", took/1e6, want/1e6)
			if math.Abs(took-want) > 0.5*want+float64(x.every) {
				t.Errorf("fair after %.0f us, predicted %.0f", took/1e6, want/1e6)
			}
		})
	}
}

// TestMixedNICs checks that the draft's rule takes W_ai from the sender's own rate. A NIC of 25 Gb/s then has a quarter
// of one of 100 Gb/s on a link that could give both the same, and has as much with one W_ai for all.
func TestMixedNICs(t *testing.T) {
	for _, x := range []struct {
		law       string
		low, high float64
	}{{"n: 16", 0.18, 0.3}, {"w_ai: 80 B", 0.75, 1.33}, {"census: on", 0.85, 1.15}} {
		t.Run(x.law, func(t *testing.T) {
			r := runNetwork(t, fmt.Sprintf(`
duration: 12ms
topology:
  hosts: [a, b, c, d, z]
  switches: [s]
  links:
    - {ends: [a, s], rate: 25Gbps, delay: 1us}
    - {ends: [b, s], rate: 25Gbps, delay: 1us}
    - {ends: [c, s], rate: 100Gbps, delay: 1us}
    - {ends: [d, s], rate: 100Gbps, delay: 1us}
    - {ends: [s, z], rate: 100Gbps, delay: 1us}
framing: hpcc
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic:
  - {name: x, from: [a, b, c, d], to: z, transport: rdma, cc: {hpcc: {%s}}, start: 0s..10us}`, x.law),
				func(c *sim.Config) {
					for i := range c.Flows {
						c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: i, Every: 6 * ms})
					}
				})
			of := func(k int) float64 { return float64(r.Watched[k][2] - r.Watched[k][1]) }
			if ratio := (of(0) + of(1)) / (of(2) + of(3)); ratio < x.low || ratio > x.high {
				t.Errorf("slow NICs have %.3f of what fast ones have", ratio)
			}
		})
	}
}

// TestEveryNth checks telemetry on every n-th packet (draft-miao §6): the link is as full and its queue as short for n
// up to 64. With 256, a flow that joins keeps its first window until its first records, which stays bounded.
func TestEveryNth(t *testing.T) {
	for _, n := range []int{1, 4, 16, 64, 256} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := runNetwork(t, fmt.Sprintf(`
duration: 6ms
topology: {star: {hosts: 6, rate: 100Gbps, delay: 1us}}
framing: hpcc
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic:
  - {name: x, from: [h0, h1, h2, h3], to: h5, transport: rdma, telemetry: packets, telemetry_packets: %d packets,
     cc: {hpcc: {w_ai: 80 B}}, start: 0s..10us}
  - {name: y, from: h4, to: h5, transport: rdma, telemetry: packets, telemetry_packets: %d packets,
     cc: {hpcc: {w_ai: 80 B}}, start: 4ms}`, n, n), func(c *sim.Config) {
				port := 2*(len(c.Wiring.Network.Links)-1) + 1
				for e := range 2 {
					if c.Wiring.Network.PortName(len(c.Wiring.Network.Links)-1, e) == "s->h5" {
						port = 2*(len(c.Wiring.Network.Links)-1) + e
					}
				}
				c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: port, Every: 2 * us},
					outcome.Watch{What: outcome.SentBytes, Index: port, Every: ms})
			})
			q, sent := r.Watched[0], r.Watched[1]
			load := float64(sent[6]-sent[2]) * 8 / (4 * ms).Seconds() / 100e9
			calm, most := percentile(q[1000:1950], 99), percentile(q[2000:], 100)
			after := percentile(q[2500:], 99) // 1 ms later
			t.Logf("n = %d: %.3f of the link, queue %d B, at a join %d B, then %d B", n, load, calm, most, after)
			if load < 0.94 || calm > 4_000 || most > 60_000 || after > 4_000 {
				t.Errorf("%.3f of the link, queues of %d, %d and %d B", load, calm, most, after)
			}
			if late := percentile(q[2000:2050], 90); n <= 16 && late > 45_000 || n == 256 && late < 20_000 {
				t.Errorf("in the first 100 us the queue is %d B", late)
			}
		})
	}
}
