package hpcc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

// network is HPCC's Appendix A: resources of some capacity, flows that each use some of
// them with W/T, and senders that see the exact loads. A step is two T long: in the first
// the loads of the new windows settle, the second is measured and committed.
type network struct {
	senders []*Sender
	uses    [][]int // by flow: its resources
	rate    []unit.Rate
	tx      []uint64
	now     unit.Time
}

const networkT = 10 * ms

// newNetwork makes the senders: with W_ai, a maxStage of 0, which Appendix A has, and windows that are not bounded by
// a NIC.
func newNetwork(t *testing.T, rate []unit.Rate, uses [][]int, windows []float64, change func(c *Config)) *network {
	n := &network{uses: uses, rate: rate, tx: make([]uint64, len(rate))}
	for i := range uses {
		f := newFlow()
		f.NICRate, f.BaseRTT = 100_000*gbps, networkT
		s := newSender(t, f, func(c *Config) {
			c.MaxStage = 0
			if change != nil {
				change(c)
			}
		})
		s.w, s.ref.wc = windows[i], windows[i]
		n.senders = append(n.senders, s)
	}
	return n
}

// computeLoad returns Y_i/C_i of a resource: the bytes in flight of the flows that use it, over the bytes that fit
// without a queue.
func (n *network) computeLoad(resource int) float64 {
	y := 0.0
	for j, s := range n.senders {
		for _, i := range n.uses[j] {
			if i == resource {
				y += s.ref.wc
			}
		}
	}
	return y / n.bdp(resource)
}

func (n *network) bdp(resource int) float64 {
	return float64(n.rate[resource]) * float64(networkT) / 8e12
}

func (n *network) step() {
	for _, commit := range []bool{false, true} {
		n.now += networkT
		hops := make([]telemetry.Hop, len(n.rate))
		for i := range hops {
			u := n.computeLoad(i)
			n.tx[i] += uint64(math.Round(min(u, 1) * n.bdp(i)))
			hops[i] = telemetry.Hop{Switch: uint32(i), Time: n.now, TxBytes: n.tx[i], Rate: n.rate[i],
				Queue: unit.Bytes(math.Round(max(u-1, 0) * n.bdp(i)))}
		}
		for j, s := range n.senders {
			var path []telemetry.Hop
			for _, i := range n.uses[j] {
				path = append(path, hops[i])
			}
			seq := s.lastUpdateSeq
			if commit {
				seq++
			}
			s.OnAck(n.now, &cc.Ack{Seq: seq, Next: seq + 1, Telemetry: cc.Telemetry{Hops: path}})
		}
	}
}

// TestOneStep checks appendix A: from any rates, one update brings a single resource to its target.
func TestOneStep(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		flows := 1 + random.IntN(20)
		eta := 0.9 + random.Float64()*0.1
		windows, uses := make([]float64, flows), make([][]int, flows)
		for i := range windows {
			windows[i], uses[i] = math.Pow(10, 5+3*random.Float64()), []int{0}
		}
		n := newNetwork(t, []unit.Rate{100 * gbps}, uses, windows, func(c *Config) { c.WAI, c.Eta = 0, eta })
		before := n.computeLoad(0)
		n.step()
		if u := n.computeLoad(0); math.Abs(u-eta) > 1e-5 {
			t.Errorf("%d flows from a load of %.3f: %.6f after one update, want %.6f", flows, before, u, eta)
		}
		n.step()
		if u := n.computeLoad(0); math.Abs(u-eta) > 1e-5 {
			t.Errorf("it does not stay: %.6f", u)
		}
	}
}

// TestManyResources checks appendix A: R_j(n+1) = R_j(n)/max_i{Y_i·A_ij/C_i}. Rates are feasible after one update,
// never fall again, and become Pareto-optimal: each flow has a full resource.
func TestManyResources(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for trial := range 200 {
		resources := 1 + random.IntN(5)
		flows := 1 + random.IntN(8)
		rate := make([]unit.Rate, resources)
		for i := range rate {
			rate[i] = unit.Rate(10+random.IntN(390)) * gbps
		}
		windows, uses := make([]float64, flows), make([][]int, flows)
		for j := range uses {
			for i := range resources {
				if random.IntN(2) == 0 {
					uses[j] = append(uses[j], i)
				}
			}
			if uses[j] == nil {
				uses[j] = []int{random.IntN(resources)}
			}
			windows[j] = math.Pow(10, 6+2*random.Float64())
		}
		n := newNetwork(t, rate, uses, windows, func(c *Config) { c.WAI, c.Eta = 0, 1 })
		for k := range 400 {
			var want, before []float64
			for j, s := range n.senders {
				want = append(want, s.ref.wc/n.worst(j))
				before = append(before, s.ref.wc)
			}
			n.step()
			for j, s := range n.senders {
				if math.Abs(s.ref.wc/want[j]-1) > 1e-4 {
					t.Fatalf("trial %d, update %d, flow %d: %v, want %v", trial, k+1, j, s.ref.wc, want[j])
				}
				if k > 0 && s.ref.wc < before[j]*(1-1e-5) {
					t.Fatalf("trial %d, update %d: flow %d falls from %v to %v", trial, k+1, j, before[j], s.ref.wc)
				}
			}
			for i := range rate {
				if u := n.computeLoad(i); u > 1+1e-4 {
					t.Fatalf("trial %d, update %d: resource %d has a load of %v", trial, k+1, i, u)
				}
			}
		}
		for j := range uses {
			if u := n.worst(j); u < 1-1e-3 {
				t.Errorf("trial %d: flow %d has a load of %.4f at most", trial, j, u)
			}
		}
	}
}

// worst is the largest load on a flow's way.
func (n *network) worst(flow int) float64 {
	u := 0.0
	for _, i := range n.uses[flow] {
		u = max(u, n.computeLoad(i))
	}
	return u
}

// TestTheory_NeedsOneUpdatePerResource checks the number of updates for that: at most I for I resources, if no finished
// flow shares a resource with an unfinished one. Here each takes one, with resources filled by flows of their own.
// Otherwise the recursion itself takes more: two resources of 100, flows {1}, {1, 2}, {2} at 100, 100, 50. The first
// update fills resource 1 and halves its flows. Then the third rises 33, 40, 44.4, … towards 50, and the gap halves,
// because the second, which no longer moves, has half of resource 2.
func TestTheory_NeedsOneUpdatePerResource(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		resources := 1 + random.IntN(5)
		rate := make([]unit.Rate, resources)
		var uses [][]int
		var windows []float64
		for i := range rate {
			rate[i] = unit.Rate(10+random.IntN(390)) * gbps
			for range 1 + random.IntN(4) {
				uses = append(uses, []int{i})
				windows = append(windows, math.Pow(10, 6+2*random.Float64()))
			}
		}
		n := newNetwork(t, rate, uses, windows, func(c *Config) { c.WAI, c.Eta = 0, 1 })
		for range resources {
			n.step()
		}
		for j := range uses {
			if u := n.worst(j); math.Abs(u-1) > 1e-4 {
				t.Errorf("%d resources: flow %d has a load of %v", resources, j, u)
			}
		}
	}
	const bdp = 125_000_000.0
	n := newNetwork(t, []unit.Rate{100 * gbps, 100 * gbps}, [][]int{{0}, {0, 1}, {1}}, []float64{bdp, bdp, bdp / 2},
		func(c *Config) { c.WAI, c.Eta = 0, 1 })
	for i, want := range []float64{1. / 3, 0.4, 4. / 9, 8. / 17} {
		n.step()
		if got := n.senders[2].ref.wc / bdp; math.Abs(got-want) > 1e-5 {
			t.Errorf("update %d: the third flow has %.6f, want %.6f", i+1, got, want)
		}
	}
}

// TestFixedPoint checks appendix A: with additive increase a, R = a·(1 − Utarget/U)⁻¹ for every flow, which is fair.
// By draft-miao §5 the increases of N flows stay within the headroom, U ≤ 1, if N·a ≤ (1−eta)·B·T. With more flows than
// N utilisation is full and the control is stable, with a queue.
func TestFixedPoint(t *testing.T) {
	const flows = 10
	for _, c := range []struct {
		configured int
		queue      bool
	}{{20, false}, {10, false}, {5, true}, {1, true}} {
		t.Run(fmt.Sprint("N = ", c.configured), func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 3))
			windows, uses := make([]float64, flows), make([][]int, flows)
			for i := range windows {
				windows[i], uses[i] = math.Pow(10, 5+3*random.Float64()), []int{0}
			}
			bdp := 125_000_000.0
			a := math.Floor(bdp * 0.05 / float64(c.configured))
			n := newNetwork(t, []unit.Rate{100 * gbps}, uses, windows, func(f *Config) { f.WAI = unit.Bytes(a) })
			for range 3000 {
				n.step()
			}
			u := n.computeLoad(0)
			testkit.CheckNear(t, "U", math.Round(u*1e5)/1e5, math.Round((0.95+flows*a/bdp)*1e5)/1e5, rounding)
			if (u > 1+1e-5) != c.queue {
				t.Errorf("N = %d: a load of %.4f", c.configured, u)
			}
			want := a / (1 - 0.95/u)
			for j, s := range n.senders {
				if math.Abs(s.ref.wc/want-1) > 1e-3 {
					t.Errorf("N = %d, flow %d: W = %.0f, want %.0f", c.configured, j, s.ref.wc, want)
				}
			}
			for range 100 {
				n.step()
				if v := n.computeLoad(0); math.Abs(v-u) > 1e-5 {
					t.Fatalf("N = %d: not stable: %v, then %v", c.configured, u, v)
				}
			}
		})
	}
}

// TestFixedPointOfPaths checks that a flow that chooses among n paths has a law for each, with W_init/n at the start
// and W_ai/n. On a link that all paths share, the fixed point is one flow's: U = eta + W_ai/(B·T), and together W =
// W_ai/(1 − eta/U). That holds for a given W_ai and by the rule of draft-miao §5.
func TestFixedPointOfPaths(t *testing.T) {
	const bdp, increase = 125_000_000.0, 2_500_000.0
	for name, change := range map[string]func(c *Config){
		"given": func(c *Config) { c.WAI = increase },
		"rule":  func(c *Config) { c.N = 2500 }, // W_init is a thousand times the link's B·T
	} {
		for _, paths := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(name, ", ", paths), func(t *testing.T) {
				uses, windows := make([][]int, paths), make([]float64, paths)
				for i := range uses {
					uses[i] = []int{0}
				}
				n := newNetwork(t, []unit.Rate{100 * gbps}, uses, windows, change)
				f := n.senders[0].flow
				f.Paths = paths
				for i := range n.senders {
					s := newSender(t, f, change)
					testkit.CheckNear(t, "first window", s.State().W, 1000*bdp/float64(paths), rounding)
					testkit.CheckNear(t, "W_ai", s.State().WAI, increase/float64(paths), rounding)
					s.w, s.ref.wc = bdp*float64(i+1)/10, bdp*float64(i+1)/10
					n.senders[i] = s
				}
				for range 3000 {
					n.step()
				}
				u, sum := n.computeLoad(0), 0.0
				testkit.CheckNear(t, "U", math.Round(u*1e5)/1e5, 0.95+increase/bdp, rounding)
				for _, s := range n.senders {
					sum += s.ref.wc
				}
				if want := increase / (1 - 0.95/u); math.Abs(sum/want-1) > 1e-3 {
					t.Errorf("windows of %.0f B together, want %.0f", sum, want)
				}
			})
		}
	}
	f := newFlow()
	f.Paths = 4
	s := newSender(t, f, func(c *Config) { c.Census = true })
	for i := range int64(3) {
		now := unit.Time(i) * 10 * us
		s.OnAck(now, &cc.Ack{FirstUnacked: i + 1, Next: i + 1, Feedback: cc.Feedback{Flows: 5},
			Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, now, uint64(i)*125_000, 0)}}})
	}
	testkit.CheckNear(t, "W_ai with five flows counted", s.State().WAI, 125_000*0.05/5/4, rounding)
}

// TestPerHopFixedPoint checks appendix A with a register per resource, where the minimum rate applies: a flow's rate is
// the minimum of a·(1 − Utarget/U_i)⁻¹, which is max-min fair. With the path's worst load in one register the fluid
// gives the same, because the minimum is the largest U_i's. Packets do not, because their loads are noisy:
// TestParkingLot.
func TestPerHopFixedPoint(t *testing.T) {
	const a = 600_000
	uses := [][]int{{0, 1}, {0}, {1}, {1}, {1}}
	for _, mode := range []Mode{PlusPlus, PerHop} {
		n := newNetwork(t, []unit.Rate{100 * gbps, 400 * gbps}, uses, []float64{9e7, 1e7, 6e7, 3e7, 4e6},
			func(c *Config) { c.Mode, c.WAI = mode, a })
		for range 3000 {
			n.step()
		}
		for j, s := range n.senders {
			if want := a / (1 - 0.95/n.worst(j)); math.Abs(s.ref.wc/want-1) > 1e-3 {
				t.Errorf("%v, flow %d: W = %.0f, want %.0f", mode, j, s.ref.wc, want)
			}
		}
		// The long flow shares resource 0 with one flow, resource 1 with three.
		long, one, three := n.senders[0].ref.wc, n.senders[1].ref.wc, n.senders[2].ref.wc
		if math.Abs(long/one-1) > 1e-3 || three <= long {
			t.Errorf("%v: %.0f, %.0f, %.0f", mode, long, one, three)
		}
	}
}

// TestTheory_PredictsUpdatesUntilFair checks the speed in appendix A: the difference of two windows shrinks by eta/U an
// update. With W_ai of the rule for n flows, four flows of a quarter each and one that begins with W_init need 1.19·(1
// + n·eta/(5·(1−eta))) updates until Jain's index is .95, which is predictedUpdates.
func TestTheory_PredictsUpdatesUntilFair(t *testing.T) {
	for _, n := range []int{5, 20, 100} {
		for _, eta := range []float64{0.9, 0.95, 0.99} {
			t.Run(fmt.Sprintf("n %d, eta %g", n, eta), func(t *testing.T) {
				const bdp = 125_000_000.0
				a := math.Round(bdp * (1 - eta) / float64(n))
				old := (eta + 4*a/bdp) * bdp / 4
				net := newNetwork(t, []unit.Rate{100 * gbps}, [][]int{{0}, {0}, {0}, {0}, {0}},
					[]float64{old, old, old, old, bdp}, func(c *Config) { c.WAI, c.Eta = unit.Bytes(a), eta })
				updates := 0
				for ; net.jain() < 0.95; updates++ {
					net.step()
				}
				if want := predictedUpdates(n, eta); math.Abs(float64(updates)-want) > 0.1*want {
					t.Errorf("%d updates, want %.0f", updates, want)
				}
			})
		}
	}
}

func predictedUpdates(n int, eta float64) float64 { return 1.19 * (1 + float64(n)*eta/(5*(1-eta))) }

// jain is Jain's index of the windows.
func (n *network) jain() float64 {
	sum, squares := 0.0, 0.0
	for _, s := range n.senders {
		sum, squares = sum+s.ref.wc, squares+s.ref.wc*s.ref.wc
	}
	return sum * sum / squares / float64(len(n.senders))
}

// TestPowerTCP checks appendix B's formulas: power = λ·ν/(B²·T), λ = q̇ + µ, ν = q + B·T; window γ(W_old/power + β) +
// (1−γ)W.
func TestPowerTCP(t *testing.T) {
	p, err := NewPower(newFlow(), scheme.Defaults[PowerConfig]())
	if err != nil {
		t.Fatal(err)
	}
	ack(p, 0, 1000, 5000, hop(1, 0, 0, 12500))
	ack(p, 5*us, 6000, 9000, hop(1, 5*us, 62500, 25000))
	// λ = (12500 + 62500) B in 5 µs = 1.2·B; ν = 1.2·B·T: 1.44; smoothed ½·1 + ½·1.44
	testkit.CheckNear(t, "power", p.power, 1.22, rounding)
	testkit.CheckNear(t, "W", p.w, 0.9*(125000/1.22+187.5)+0.1*125000, rounding) // β = 150 Mb/s · 10 µs
	d, _ := NewPower(newFlow(), PowerConfig{Gamma: 0.9, N: 100, Eta: 0.95, MinCurrent: 0.5})
	ack(d, 0, 1000, 5000, hop(1, 0, 0, 125000))
	ack(d, 10*us, 6000, 9000, hop(1, 10*us, 0, 0)) // λ < 0: half of B; ν = B·T
	testkit.CheckNear(t, "power with a floor", d.power, 0.5, rounding)
	ack(d, 20*us, 7000, 9500, hop(1, 20*us, 125000, 125000)) // λ = 2, ν = 2
	testkit.CheckNear(t, "power", d.power, 4, rounding)
	testkit.CheckNear(t, "W by N, eta and the old window", d.w, 0.9*(125000/(4/0.95)+1250)+0.1*125000, rounding)
	w := d.w
	ack(d, 30*us, 9501, 9900, hop(1, 30*us, 250000, 125000)) // λ = 1, ν = 2: another round trip
	testkit.CheckNear(t, "W a round trip later", d.w, 0.9*(w/(2/0.95)+1250)+0.1*w, rounding)
	// At power 1 with β = 0 the window stays: the equilibrium is a full link without a queue.
	e, _ := NewPower(newFlow(), PowerConfig{Gamma: 0.9, Eta: 1})
	for i := range 100 {
		n := unit.Time(i) * 10 * us
		ack(e, n, int64(i)*1000, int64(i)*1000+5, hop(1, n, uint64(i)*125000, 0))
	}
	testkit.CheckNear(t, "W at equilibrium", e.w, 125000, rounding)
	// The same gaps are closed as for HPCC++.
	before := *e
	ack(e, 991*us, 200000, 210000, hop(1, 990*us, 125000*99, 9999))
	if e.power != before.power || e.w != before.w {
		t.Error("an equal time counts")
	}
	ack(e, 992*us, 200000, 210000, hop(2, 0, 0, 9999))
	if e.power != 1 || e.w != before.w {
		t.Error("another path counts")
	}
	e.OnLoss(ms, cc.Loss{Kind: cc.RetransmissionTimeout})
	if e.Decision().Window != 1000 {
		t.Error("a timeout leaves more than a packet")
	}
}

// TestPINT_UsesDecodedLoadAsU checks A7: HPCC's law with the decoded load as U, without an average at the sender.
func TestPINT_UsesDecodedLoadAsU(t *testing.T) {
	p, err := NewPINT(newFlow(), PINTConfig{Defaults(), 1})
	if err != nil {
		t.Fatal(err)
	}
	p.OnAck(0, &cc.Ack{FirstUnacked: 1000, Next: 5000, Telemetry: cc.Telemetry{Load: 1.9}})
	testkit.CheckNear(t, "W", p.w, 62580, rounding)
	p.OnAck(0, &cc.Ack{FirstUnacked: 2000, Next: 5000, Telemetry: cc.Telemetry{Load: 0.95}})
	testkit.CheckNear(t, "W within the round trip", p.w, 62660, rounding)
	testkit.CheckNear(t, "Wc", p.ref.wc, 62580, rounding)
	p.OnAck(0, &cc.Ack{FirstUnacked: 5001, Next: 9000, Telemetry: cc.Telemetry{Load: 3.8}})
	testkit.CheckNear(t, "W after the next", p.ref.wc, 62580/4.+80, rounding)
	p.OnAck(0, &cc.Ack{FirstUnacked: 9001, Next: 10000})
	testkit.CheckNear(t, "W after an ACK without a load", p.ref.wc, 62580/4.+80, rounding)
	// A share of 25 % looks at that many.
	p, _ = NewPINT(newFlow(), PINTConfig{Defaults(), 0.25})
	seen := 0
	for i := range 4000 {
		before := p.lastUpdateSeq
		p.OnAck(0, &cc.Ack{FirstUnacked: int64(i) + 1, Next: int64(i) + 1, Telemetry: cc.Telemetry{Load: 0.95}})
		if p.lastUpdateSeq != before {
			seen++
		}
	}
	if seen < 900 || seen > 1100 {
		t.Errorf("%d of 4000 are looked at", seen)
	}
}
