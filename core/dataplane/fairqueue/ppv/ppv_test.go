package ppv

import (
	"fmt"
	"math"
	"os"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// weighed is a configuration with reference rates of 10.0.0.1, 10.0.0.2 and so on, in kb/s.
func weighed(smallest bool, rates ...int) Config {
	c := scheme.Defaults[Config]()
	c.Smallest = smallest
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

// shape gives a port the scheduler that smallest needs.
func shape(smallest bool) func(dataplanetest.Port) dataplanetest.Port {
	return func(p dataplanetest.Port) dataplanetest.Port {
		if smallest && p.Scheduler == nil {
			p.Scheduler = tm.NewLeastValue()
		}
		return p
	}
}

// TestProgram_MatchesTranscripts compares the program with the transcripts in testdata, from an evaluation of the
// papers that shares no code with Weir's.
func TestProgram_MatchesTranscripts(t *testing.T) {
	for _, smallest := range []bool{true, false} {
		name, limit := "threshold", int32(30)
		if smallest {
			name, limit = "smallest", 8
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			s := dataplanetest.NewSetup(4, dataplanetest.Port{Rate: unit.LinkRate{Bits: 1500 * unit.Kbps},
				Total: tm.Limit{Packets: limit}}, shape(smallest))
			var x *program
			rank := &ranks{}
			dataplanetest.CheckTranscript(t, s, string(text), func(site *dataplane.Site) []dataplane.Program {
				if x, err = newProgram(site, weighed(smallest, 10, 20, 10)); err != nil {
					t.Fatal(err)
				}
				return []dataplane.Program{x, rank}
			}, func() string {
				if smallest {
					return fmt.Sprintf("rank %d", rank.last)
				}
				threshold, part := "none", x.ports[3].partAtThreshold
				if r, _ := x.threshold(3); r != math.MaxUint32 {
					threshold = fmt.Sprint(r)
				}
				return fmt.Sprintf("rank %d threshold %s part %.6g", rank.last, threshold, part)
			})
		})
	}
}

// ranks stores the rank of the current packet.
type ranks struct{ last uint32 }

func (r *ranks) Name() string { return "ranks" }
func (r *ranks) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	r.last = p.Meta.User
	return dataplane.Accept
}

// TestConfig_RanksThroughputByHand calculates regions by hand: 30 a decade from 10 kb/s, so 20 kb/s, 0.301 decades, is
// in the 10th beyond the first.
func TestConfig_RanksThroughputByHand(t *testing.T) {
	c := weighed(false)
	for _, x := range []struct {
		throughput float64
		want       uint32
	}{{0, 0}, {10e3, 0}, {10.001e3, 1}, {10.7e3, 1}, {10.9e3, 2}, {20e3, 10}, {99.9e3, 30}, {1.01e6, 61}, {1.01e9, 151},
		{1.01e11, 211}, {1e13, 211}} {
		t.Run(fmt.Sprint(x.throughput), func(t *testing.T) {
			if got := c.RankOf(x.throughput); got != x.want {
				t.Errorf("%d, want %d", got, x.want)
			}
		})
	}
}

// TestPortState_FindsThresholdByHand checks the quantile by hand. Of 100, 200 and 700 bytes at ranks 1, 2 and 5 a tenth
// is 100 of the 700. 4/5 are all of them and half of the 200.
func TestPortState_FindsThresholdByHand(t *testing.T) {
	k := portState{currentBytes: make([]int64, 8), previousBytes: make([]int64, 8)}
	k.currentBytes[1], k.currentBytes[2], k.previousBytes[5] = 100, 200, 700
	for _, x := range []struct {
		probability float64
		rank        uint32
		part        float64
	}{{0, math.MaxUint32, 0}, {0.1, 5, 1. / 7}, {0.7, 5, 1}, {0.8, 2, 0.5}, {1, 1, 1}} {
		t.Run(fmt.Sprint(x.probability), func(t *testing.T) {
			k.probability = x.probability
			if k.findThreshold(); k.threshold != x.rank || math.Abs(k.partAtThreshold-x.part) > 1e-9 {
				t.Errorf("rank %d, part %g", k.threshold, k.partAtThreshold)
			}
		})
	}
}

// TestPortState_UpdatesProbabilityByHand follows RFC 8033 §4.2 by hand: 40 ms after 20 ms with a target of 15 ms add
// 0.125 · 0.025 + 1.25 · 0.02 = 0.028125. This is divided by 2 from a probability of 5 %, and by 2048 from 0.
func TestPortState_UpdatesProbabilityByHand(t *testing.T) {
	c := weighed(false)
	for _, x := range []struct{ from, want float64 }{{0.5, 0.528125}, {0.05, 0.0640625}, {0, 0.028125 / 2048}, {0.99, 1}} {
		k := portState{probability: x.from, delay: 0.02}
		if k.updateThreshold(0.04, &c); math.Abs(k.probability-x.want) > 1e-12 {
			t.Errorf("from %g: %g, want %g", x.from, k.probability, x.want)
		}
	}
}

// TestProgram_EvictAddressForgetsUser checks that only a source that becomes another's restarts.
func TestProgram_EvictAddressForgetsUser(t *testing.T) {
	s := dataplanetest.Setup{}
	for range 3 {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	site := s.NewSite()
	x, err := newProgram(site, weighed(false))
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x}
	dataplanetest.RunDirect(s, []dataplanetest.Arrival{{At: unit.Second, Dst: 3, Payload: 100},
		{At: unit.Second, Port: 1, Dst: 3, Payload: 100}})
	x.EvictAddress(1)
	if a, b := x.rates.Value(0), x.rates.Value(1); a != 0 || b == 0 {
		t.Errorf("rates %g and %g", a, b)
	}
}

// TestPortState_SilenceForgetsBytes checks that bytes before a silence of a window are cleared, and bytes in the
// previous window are not. By hand, in windows of 100 ms: 700 bytes at 0 count at 150 ms, and no longer at 350 ms.
func TestPortState_SilenceForgetsBytes(t *testing.T) {
	for _, x := range []struct {
		at   unit.Time
		want int64
	}{{150 * unit.Millisecond, 700}, {350 * unit.Millisecond, 0}} {
		k := portState{currentBytes: make([]int64, 2), previousBytes: make([]int64, 2)}
		k.countBytes(0, 1, 700, 100*unit.Millisecond)
		if k.countBytes(x.at, 0, 1, 100*unit.Millisecond); k.currentBytes[1]+k.previousBytes[1] != x.want {
			t.Errorf("at %v: %d bytes, want %d", x.at, k.currentBytes[1]+k.previousBytes[1], x.want)
		}
	}
}

// TestPortState_ProbabilityDecaysWithoutDelay follows RFC 8033 §4.2 by hand: without a delay, now and before, 0.5 −
// 0.125 · 0.015 decays by 2 %.
func TestPortState_ProbabilityDecaysWithoutDelay(t *testing.T) {
	c := weighed(false)
	k := portState{probability: 0.5}
	if k.updateThreshold(0, &c); math.Abs(k.probability-0.4881625) > 1e-12 {
		t.Errorf("%g, want 0.4881625", k.probability)
	}
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), shape(false), nil, "target", "1ms", "update", "1ms")
	// these set the scheduler that they are about, in place of least, which smallest needs
	dataplanetest.CheckProgram(t, Scheme(), shape(true), []string{"a hard ceiling", "fair queues", "classes of delay"},
		"drop",
		"smallest")
}

// TestProgram_SharesByWeight checks that users get equal shares, or shares by their weights, and a user below its share
// loses almost no packets: at 10 Mb/s and, with windows shorter in proportion, at 100 Gb/s.
func TestProgram_SharesByWeight(t *testing.T) {
	for _, smallest := range []bool{false, true} {
		for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Gbps} {
			for _, x := range dataplanetest.Sharings() {
				t.Run(fmt.Sprint(rate, " ", x.Name, " ", smallest), func(t *testing.T) {
					c := weighed(smallest, x.References...)
					scale := float64(10*unit.Mbps) / float64(rate)
					for _, w := range []*unit.Time{&c.K, &c.Target, &c.Update, &c.Window} {
						*w = unit.Time(float64(*w) * scale)
					}
					c.Alpha, c.Beta = c.Alpha/scale, c.Beta/scale
					s := dataplanetest.NewSetup(len(x.Parts)+1, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate},
						Total: tm.Limit{Packets: 100}}, shape(smallest))
					p, err := newProgram(s.NewSite(), c)
					if err != nil {
						t.Fatal(err)
					}
					x.CheckShares(t, s, unit.Time(4e12*scale), p, 0.05, 0.01)
				})
			}
		}
	}
}

// TestConfig_RejectsOrRemarksUnsuitableValues checks that impossible values are refused, and a target that the buffer
// never reaches gives a warning.
func TestConfig_RejectsOrRemarksUnsuitableValues(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Packets: 10}}}}
	if _, err := newProgram(s.NewSite(), weighed(false)); err == nil {
		t.Error("a port with a rate in packets is taken")
	}
	for _, given := range [][]string{{"from", "1Gbps", "to", "1Gbps"}, {"from", "1bps", "to", "1Tbps", "steps", "300",
		"window", "1ms"}, {"window", "10ms"}} {
		if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), given...); err == nil {
			t.Errorf("%v is taken", given)
		}
	}
	c := weighed(false)
	where := dataplane.SwitchContext{Ports: []dataplane.Peer{{Rate: unit.LinkRate{Bits: 50 * unit.Mbps},
		Buffer: unit.Length{Packets: 24}}}}
	if len(c.Check(&where)) != 1 {
		t.Error("24 packets at 50 Mb/s are 6 ms, and nothing is said of a target of 15 ms")
	}
	if c.Target = 2 * unit.Millisecond; len(c.Check(&where)) != 0 {
		t.Error("2 ms are refused")
	}
	if c.Update = 3 * unit.Millisecond; len(c.Check(&where)) != 1 || c.Check(&where)[0].Param != "update" {
		t.Errorf("alpha is for updates every 15 ms, and is said of 3 ms: %v", c.Check(&where))
	}
	if c.Smallest = true; len(c.Check(&where)) != 0 {
		t.Errorf("where no threshold is set: %v", c.Check(&where))
	}
}

func TestNoAllocation(t *testing.T) {
	c := weighed(false)
	k := portState{currentBytes: make([]int64, c.regionCount()), previousBytes: make([]int64, c.regionCount())}
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += unit.Millisecond
		k.countBytes(now, c.RankOf(1e6), 1000, c.Window)
		k.updateThreshold(0.02, &c)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleConfig_RankOf() {
	c := scheme.Defaults[Config]()
	fmt.Println(c.RankOf(10e3), c.RankOf(20e3), c.RankOf(200e3))
	// Output: 0 10 40
}
