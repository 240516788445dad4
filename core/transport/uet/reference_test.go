package uet_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/uet"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/sim"
)

// registry has what the experiments of these tests name.
func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures:   measure.Definitions(),
		Programs:   []dataplane.Scheme{ecmp.Scheme(), trimming.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{uet.Scheme()},
		Topologies: topology.Schemes(),
		Networks:   topology.Formats(),
		Flows:      workload.Formats(),
	}
}

// loadReference loads an experiment that must be valid. The files that it names are the reference's, in testdata.
func loadReference(t testing.TB, text string) *experiment.Spec {
	t.Helper()
	return loadWith(t, text, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("testdata", "reference", name))
	})
}

// loadWith loads an experiment that must be valid. The function open returns the files that it names.
func loadWith(t testing.TB, text string, open func(name string) ([]byte, error)) *experiment.Spec {
	t.Helper()
	return plantest.LoadSource(t, registry(), &experiment.Source{Name: "test", File: "test.yaml", Data: []byte(text),
		Open: open}, experiment.Options{})
}

// config makes a run of an experiment of one point.
func config(t testing.TB, s *experiment.Spec, seed uint64) *sim.Config {
	t.Helper()
	c, err := plan.Config(s.Points()[0], seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// figures are what a run of a case gives.
type figures struct {
	done       int
	last, mean unit.Time
	packets    int64 // new ones
	again      int64
	trims      int64
	hops       uint64 // of switch ports
}

// carry runs a case with a seed.
func carry(t testing.TB, s *experiment.Spec, seed uint64, change ...func(c *sim.Config)) figures {
	t.Helper()
	c := config(t, s, seed)
	for _, f := range change {
		f(c)
	}
	r := plantest.Simulate(t, c)
	var x figures
	for i := range r.Flows {
		f := &r.Flows[i]
		x.packets += f.Sender.SentPackets - f.Sender.Retransmitted
		x.again += f.Sender.Retransmitted
		x.trims += f.Sender.NacksTaken
		if f.FCT == unit.Never {
			continue
		}
		x.done++
		x.last = max(x.last, f.Start+f.FCT)
		x.mean += f.FCT
	}
	x.mean /= unit.Time(max(x.done, 1))
	for _, p := range r.Ports {
		if c.Wiring.Network.Nodes[p.Node].Switch {
			x.hops += p.TxPackets
		}
	}
	return x
}

// reference is a case's result in the simulator.
type reference struct {
	name       string
	flows      int
	last, mean float64 // us
	packets    int64
	again      int64
	hops       uint64
	bar        float64 // share by which the mean of the seeds may differ
	seeds      int
}

var references = []reference{
	{"a01", 1, 176.2, 176.2, 490, 0, 2450 + 620, 0.001, 1},
	{"a02", 1, 177.368, 177.4, 490, 0, 2450 + 1660, 0.001, 1},
	{"a03", 15, 2478.53, 2179.2, 7350, 811, 34907 + 37252, 0.03, 5},
	{"a04", 15, 2464.44, 2444.9, 7350, 762, 34868 + 26434, 0.03, 5},
	{"a05", 128, 200.909, 192.6, 62720, 0, 302820 + 103190, 0.03, 5},
	{"a06", 128, 694.039, 375.1, 62720, 2868, 305307 + 262164, 0, 20},
	{"a07", 128, 62.4382, 58.5, 62720, 0, 302820 + 79584, 0.03, 5},
	{"a08", 128, 62.7043, 58.8, 62720, 0, 302820 + 218965, 0.03, 5},
	{"a09", 32, 1327.3, 1103.6, 15680, 6994, 95870 + 117472, 0.03, 5},
	{"a10", 32, 1316.98, 1301.8, 15680, 5351, 91588 + 102452, 0.03, 5},
	{"a11", 127, 21034.9, 20176.5, 62230, 72704, 551188 + 720476, 0.03, 5},
	{"a12", 240, 499.871, 32.8, 117600, 0, 525280 + 133123, 0.03, 5},
	{"a13", 496, 859.705, 27.6, 121520, 0, 303800 + 77195, 0.03, 5},
	{"a14", 64, 219.774, 53.4, 15680, 0, 54880 + 14415, 0.03, 5},
	{"a15", 128, 728.549, 562.4, 62720, 4965, 307881 + 297889, 0.03, 5},
	{"a16", 128, 237.341, 195.7, 62720, 229, 303278 + 107587, 0.03, 5},
	{"a17", 128, 739.351, 624.4, 62720, 8381, 0, 0.03, 5}, // ours: A15's with credit; hops were not counted
	// Weir's own: the inputs of a review that no developer of this transport had seen (seeds.csv)
	{"c1", 600, 338.805, 39.0, 78364, 3084, 0, 0.03, 8},
	{"c2", 96, 183.333, 128.5, 23520, 26860, 0, 0.03, 8},
	{"c3", 128, 221.45, 189.9, 125312, 1191, 0, 0.03, 8},
	{"c4", 32, 1499.93, 1100.5, 23520, 1952, 0, 0.03, 8},
	{"c5", 100, 561.105, 471.2, 1600, 3907, 0, 0.03, 8},
}

// of reads the experiment of a case.
func (r *reference) of(t testing.TB) *experiment.Spec {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "reference", r.name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return loadReference(t, string(text))
}

func micro(t unit.Time) float64 { return float64(t) / 1e6 }

// runs has the simulator's results with other seeds, where they were made (seeds.csv).
type runs struct {
	n                 float64
	last, mean, again float64 // on average
	low, high         float64 // of the last end
}

// ownSeed is the simulator's default.
const ownSeed = "13"

// others reads the simulator's runs with other seeds, including the case's own. It returns nil if there are no such
// runs.
func (r *reference) others(t testing.TB) *runs {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "reference", "seeds.csv"))
	if err != nil {
		t.Fatal(err)
	}
	x, same := runs{low: math.Inf(1)}, false
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if f[0] != r.name {
			continue
		}
		var v [3]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(f[2+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		x.n++
		x.last, x.mean, x.again = x.last+v[0], x.mean+v[1], x.again+v[2]
		x.low, x.high = min(x.low, v[0]), max(x.high, v[0])
		same = same || f[1] == ownSeed && v[0] == r.last && math.Abs(v[1]-r.mean) < 0.1 && v[2] == float64(r.again)
	}
	if x.n == 0 {
		return nil
	}
	if !same {
		t.Errorf("%s: the run with seed %s is not the case's", r.name, ownSeed)
	}
	x.last, x.mean, x.again = x.last/x.n, x.mean/x.n, x.again/x.n
	return &x
}

// check carries a case out with some seeds, and holds it against the simulator's result, or against the mean of its
// results with other seeds.
func (r *reference) check(t *testing.T) {
	s := r.of(t)
	var sum figures
	low, high := unit.Never, unit.Time(0)
	last, mean := 0.0, 0.0
	for seed := range r.seeds {
		x := carry(t, s, uint64(seed+1))
		if x.done != r.flows || x.packets != r.packets {
			t.Errorf("seed %d: %d of %d flows, %d of %d packets", seed+1, x.done, r.flows, x.packets, r.packets)
		}
		low, high = min(low, x.last), max(high, x.last)
		last, mean = last+micro(x.last), mean+micro(x.mean)
		sum.again, sum.trims, sum.hops = sum.again+x.again, sum.trims+x.trims, sum.hops+x.hops
	}
	n := float64(r.seeds)
	last, mean = last/n, mean/n
	again, trims, hops := float64(sum.again)/n, float64(sum.trims)/n, float64(sum.hops)/n
	want := runs{last: r.last, mean: r.mean, again: float64(r.again)}
	if x := r.others(t); x != nil {
		want = *x
		if last < x.low || last > x.high || x.last < micro(low) || x.last > micro(high) {
			t.Errorf("the last flow ends at %.1f us (%.1f … %.1f), in the simulator at %.1f (%.1f … %.1f)", last, micro(low),
				micro(high), x.last, x.low, x.high)
		}
	}
	t.Logf("| %s | last %.2f (%.2f … %.2f), reference %.2f, %+.2f %% | mean %.1f, %.1f, %+.2f %% | again %.0f, %.0f | "+
		"trims %.0f | hops %.0f, %d |", r.name, last, micro(low), micro(high), want.last, 100*(last/want.last-1), mean,
		want.mean, 100*(mean/want.mean-1), again, want.again, trims, hops, r.hops)
	if r.bar > 0 {
		if last < want.last*(1-r.bar) || last > want.last*(1+r.bar) {
			t.Errorf("the last flow ends at %.3f us, %.3f in the simulator", last, want.last)
		}
		if mean < want.mean*0.97 || mean > want.mean*1.03 {
			t.Errorf("flows take %.1f us on average, %.1f in the simulator", mean, want.mean)
		}
	} else if want.last < micro(low) || want.last > micro(high) || mean < 0.9*want.mean || mean > 1.1*want.mean {
		t.Errorf("the simulator's last flow ends at %.1f us, here at %.1f … %.1f; means %.1f and %.1f", want.last,
			micro(low), micro(high), want.mean, mean)
	}
	for what, x := range map[string]float64{"packets sent again": again, "trims": trims} {
		if math.Abs(x-want.again) > max(50, 0.15*want.again) {
			t.Errorf("%.0f %s, %.0f in the simulator", x, what, want.again)
		}
	}
}

// TestUET_MatchesReferenceSimulator checks that cases without chance agree with the simulator within 0.1 %: a flow by
// window, and one by credit.
func TestUET_MatchesReferenceSimulator(t *testing.T) {
	for i := range references[:2] {
		r := &references[i]
		t.Run(r.name, r.check)
	}
}

// TestReferenceFiles checks that the files of all cases can be read, and have their flows.
func TestReferenceFiles(t *testing.T) {
	for i := range references {
		r := &references[i]
		t.Run(r.name, func(t *testing.T) {
			if p := r.of(t).Points()[0]; p.Flows() != r.flows {
				t.Errorf("%d flows, want %d", p.Flows(), r.flows)
			}
		})
	}
}

// TestSameResult checks that bytes on every link, other windows and threads give the same result, under every
// controller.
func TestSameResult(t *testing.T) {
	for _, control := range []string{"nscc", "rccc", "both"} {
		t.Run(control, func(t *testing.T) {
			s := loadReference(t, fmt.Sprintf(`
duration: 20ms
topology: {fat_tree: {k: 4, rate: 100Gbps, delay: 1us}}
framing: htsim
mtu: 4086 B payload
switches:
  "*": {queues: 2, programs: [ecmp, {trimming: {rtt: 14.02272us}}]}
traffic:
  - {name: incast, from: {random: 6}, to: {random: 1}, size: 200kB,
     transport: {uet: {control: %s, network_rtt: 14.02272us}}}
  - {name: perm, from: "*", to: permutation, size: 100kB, transport: {uet: {control: %s, balance: reps}}}
measure: [fct]
`, control, control))
			var want figures
			for i, change := range []func(c *sim.Config){
				func(*sim.Config) {},
				func(c *sim.Config) { c.Wire = true },
				func(c *sim.Config) { c.Threads = 3 },
				func(c *sim.Config) { c.Window = 300 * unit.Nanosecond },
			} {
				x := carry(t, s, 1, change)
				if i == 0 {
					if want = x; x.done != 22 || x.trims == 0 {
						t.Errorf("%+v", x)
					}
				} else if x != want {
					t.Errorf("%d: %+v, want %+v", i, x, want)
				}
			}
		})
	}
}

// TestManyFlowsOnNIC checks 120 flows of 100 kB that share a NIC. Each has a turn every 40 us, and four packets take
// longer than a timeout, so packets that only wait for their acknowledgement are resent, as in the simulator (644 of
// 3,000 packets; 15,984 of 24,000 of 960 flows; none with -sack_threshold 1). With ask_late flows with late turns
// request acknowledgements, and no packet is resent. The last flow then ends when the link has carried all data.
func TestManyFlowsOnNIC(t *testing.T) {
	run := func(control, late string) figures {
		return carry(t, loadReference(t, fmt.Sprintf(`
duration: 20ms
topology: {fat_tree: {k: 4, rate: 100Gbps, delay: 1us}}
framing: htsim
mtu: 4086 B payload
switches:
  "*": {queues: 2, programs: [ecmp, {trimming: {rtt: 14.02272us}}]}
traffic:
  - {name: all, from: h0, to: h4, flows: 120, size: 100kB, start: 0s,
     transport: {uet: {control: %s, network_rtt: 14.02272us, ask_late: %s}}}
measure: [fct]
`, control, late)), 1)
	}
	for _, control := range []string{"nscc", "rccc", "both"} {
		x := run(control, "50%")
		if x.done != 120 || x.packets != 3000 || x.again != 0 || x.trims != 0 || x.last > 1005*unit.Microsecond {
			t.Errorf("%s: %+v", control, x)
		}
	}
	if x := run("nscc", "0%"); x.again < 600 || x.trims != 0 || x.last < 1150*unit.Microsecond {
		t.Errorf("where nobody asks: %+v", x)
	}
}
