package run

import (
	"fmt"
	"math"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// drawn draws the flows of one run on a leaf-spine of 16 hosts at 10 Gb/s.
func drawn(t *testing.T, traffic string, seed uint64) *sim.Config {
	t.Helper()
	s := plantest.Load(t, room(), `title: t
duration: 100ms
topology: {leaf_spine: {leaves: 4, spines: 2, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: x, transport: tcp, `+traffic+`}
`, experiment.Options{})
	c, err := plan.Config(s.Points()[0], seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPermutationTraffic checks that in a permutation every host sends to one other host and receives from one.
// Another seed draws another permutation.
func TestPermutationTraffic(t *testing.T) {
	last := ""
	for seed := range uint64(20) {
		c := drawn(t, `from: "*", to: permutation, size: 1MB`, seed)
		heard := map[int]bool{}
		all := ""
		for _, f := range c.Flows {
			if f.Src == f.Dst || heard[f.Dst] {
				t.Fatalf("seed %d: %d → %d", seed, f.Src, f.Dst)
			}
			heard[f.Dst] = true
			all += fmt.Sprint(f.Dst, " ")
		}
		if len(heard) != 16 || all == last {
			t.Errorf("seed %d: %d hosts, %s", seed, len(heard), all)
		}
		last = all
	}
}

// TestSets_BeginAtIntervals checks that sets begin one interval after another, each with its own start times, for
// patterns and for pairs of hosts.
func TestSets_BeginAtIntervals(t *testing.T) {
	for _, traffic := range []string{`from: "*", to: {stride: 4}`, `from: h0, to: [h4, h8]`} {
		c := drawn(t, traffic+`, size: 1MB, flows: 2, start: 5ms..8ms, sets: {count: 3, interval: 20ms}`, 1)
		starts := [3]int{}
		for _, f := range c.Flows {
			set := f.Start / (20 * unit.Millisecond)
			if at := f.Start - set*20*unit.Millisecond; at < 5*unit.Millisecond || at > 8*unit.Millisecond {
				t.Errorf("%s: a flow starts at %v", traffic, f.Start)
			}
			starts[set]++
		}
		if n := len(c.Flows) / 3; starts != [3]int{n, n, n} || n == 0 {
			t.Errorf("%s: %v flows a set", traffic, starts)
		}
	}
}

// TestTOSBySize checks the TOS byte by size: the entry with the largest size up to the flow's size applies.
func TestTOSBySize(t *testing.T) {
	s := plantest.Load(t, room(), `title: t
duration: 2s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: x, transport: tcp, from: h0, to: h2, tos: {0 B: 0x10, 100KB: 0x08, 1MB: 0xb8}}
  - {name: y, transport: tcp, from: h0, to: h2, tos: 3}
`, experiment.Options{})
	for size, want := range map[unit.Bytes]uint8{1: 0x10, 99999: 0x10, 100000: 0x08, 999999: 0x08, 1e6: 0xb8,
		1 << 40: 0xb8, 0: 0xb8} {
		t.Run(size.String(), func(t *testing.T) {
			if got := s.Points()[0].Entry(0).TOSOf(size); got != want {
				t.Errorf("%d bytes have TOS %#x, want %#x", size, got, want)
			}
			if got := s.Points()[0].Entry(1).TOSOf(size); got != 3 {
				t.Errorf("%d bytes have TOS %#x, want 3", size, got)
			}
		})
	}
}

// TestPatterns_ChooseDestinations checks strides, random destinations, incasts without a load, and several flows
// per source.
func TestPatterns_ChooseDestinations(t *testing.T) {
	c := drawn(t, `from: "*", to: {stride: 4}, size: 1MB, flows: 2`, 1)
	for i, f := range c.Flows {
		if f.Src != i/2 || f.Dst != (f.Src+4)%16 {
			t.Errorf("stride 4, flow %d: %d → %d", i, f.Src, f.Dst)
		}
	}
	if len(c.Flows) != 32 {
		t.Errorf("%d flows", len(c.Flows))
	}
	c = drawn(t, `from: h0, to: random, size: 1MB, flows: 1000`, 1)
	count := map[int]int{}
	for _, f := range c.Flows {
		count[f.Dst]++
	}
	if len(count) != 15 || count[0] > 0 {
		t.Errorf("random destinations: %v", count)
	}
	c = drawn(t, `from: {random: 10}, to: {random: 1}, size: 1MB`, 3)
	sources := map[int]bool{}
	for _, f := range c.Flows {
		sources[f.Src] = true
		if f.Dst != c.Flows[0].Dst || f.Src == f.Dst {
			t.Errorf("incast: %d → %d", f.Src, f.Dst)
		}
	}
	if len(c.Flows) != 10 || len(sources) != 10 {
		t.Errorf("incast: %d flows from %d hosts", len(c.Flows), len(sources))
	}
	if c = drawn(t, `from: "*", to: "*", size: 1kB, start: 0s`, 1); len(c.Flows) != 16*15 {
		t.Errorf("all to all: %d flows", len(c.Flows))
	}
}

// TestLoad_OffersGivenShare checks that the offered load is the sum of sizes over the hosts' rates and time. It
// covers Poisson and periodic arrivals, a size distribution, and incasts whose flows begin together.
func TestLoad_OffersGivenShare(t *testing.T) {
	for traffic, share := range map[string]float64{
		`from: "*", to: random, sizes: hadoop, load: 50%`:                        0.5,
		`from: "*", to: random, size: 10kB, load: 30%, arrivals: periodic`:       0.3,
		`from: {random: 8}, to: {random: 1}, size: 5kB, load: 2%`:                0.02,
		`from: "*", to: random, size: 100kB, load: 80%, start: 20ms, stop: 70ms`: 0.4,
	} {
		t.Run(traffic, func(t *testing.T) {
			sum, flows := 0.0, 0
			first, last := unit.Never, unit.Time(0)
			for seed := range uint64(4) {
				c := drawn(t, traffic, seed)
				for _, f := range c.Flows {
					sum += float64(f.Size)
					first, last = min(first, f.Start), max(last, f.Start)
				}
				flows += len(c.Flows)
			}
			if got := sum * 8 / (4 * 16 * 10e9 * 0.1); math.Abs(got/share-1) > 0.12 {
				t.Errorf("a load of %.3f with %d flows", got, flows)
			}
			if last >= 100*unit.Millisecond {
				t.Errorf("a flow at %v", last)
			}
		})
	}
	c := drawn(t, `from: {random: 8}, to: {random: 2}, size: 5kB, load: 2%`, 1)
	for i := 0; i+16 <= len(c.Flows); i += 16 {
		for _, f := range c.Flows[i : i+16] {
			if f.Start != c.Flows[i].Start {
				t.Fatalf("an incast begins at %v and %v", c.Flows[i].Start, f.Start)
			}
		}
	}
	a, b := drawn(t, `from: "*", to: random, sizes: websearch, load: 50%`, 1),
		drawn(t, `from: "*", to: random, sizes: websearch, load: 50%`, 1)
	if fmt.Sprint(len(a.Flows), a.Flows[5].Start, a.Flows[5].Dst) != fmt.Sprint(len(b.Flows), b.Flows[5].Start,
		b.Flows[5].Dst) {
		t.Error("one seed draws two workloads")
	}
}

// TestPoissonArrivals checks that the gaps of a host with Poisson arrivals are exponential: their coefficient of
// variation is 1.
func TestPoissonArrivals(t *testing.T) {
	c := drawn(t, `from: h3, to: random, size: 1kB, load: 80%`, 1)
	sum, squares, n := 0.0, 0.0, 0.0
	for i := 1; i < len(c.Flows); i++ {
		g := (c.Flows[i].Start - c.Flows[i-1].Start).Seconds()
		sum += g
		squares += g * g
		n++
	}
	mean := sum / n
	if cv := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(cv-1) > 0.03 || math.Abs(mean/1e-6-1) > 0.02 {
		t.Errorf("mean gap %g s, variation %.3f; want 1 us and 1", mean, cv)
	}
}

// TestDrawnRun checks that a run with drawn flows ends when they are finished, and lists unfinished ones.
func TestDrawnRun(t *testing.T) {
	o := execute(t, `title: t
duration: 10s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 10Gbps, delay: 1us, buffer: 200 packets}}
switch: [ecmp]
traffic:
  - {name: background, from: "*", to: random, transport: tcp, sizes: hadoop, load: 30%, stop: 5ms}
  - {name: incast, from: {random: 4}, to: {random: 1}, transport: tcp, cc: reno, size: 20kB, load: 2%, stop: 5ms}
measure: [fct, goodput]
expect:
  - {id: all, says: flows finish, that: fct_finished.background > 50 and fct_finished.incast >= 8}
`, Options{})
	if c := o.Claims[0]; c.Verdict != claim.Holds {
		t.Errorf("%s: %s", c.Verdict, c.Measured)
	}
	for _, r := range o.Runs {
		if r.End.Reason != string(outcome.AllDone) {
			t.Errorf("ended: %s, %d unfinished", r.End.Reason, len(r.Unfinished))
		}
	}
}

// TestIncastOfHPCC checks the incast of HPCC §5.1. Each time, 60 random senders send 500 KB each to one receiver,
// and all incasts together are 2 % of the capacity of the network's 320 hosts.
func TestIncastOfHPCC(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 500ms
topology: {leaf_spine: {leaves: 20, spines: 20, hosts: 16, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: incast, from: {random: 60}, to: {random: 1}, size: 500KB, load: 2%, transport: tcp}
`, experiment.Options{})
	c, err := plan.Config(s.Points()[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	var total unit.Bytes
	receivers := map[int]bool{}
	for i := 0; i < len(c.Flows); i += 60 {
		senders := map[int]bool{}
		for _, f := range c.Flows[i : i+60] {
			if total += f.Size; f.Size != 500*unit.KB || f.Start != c.Flows[i].Start || f.Dst != c.Flows[i].Dst ||
				f.Src == f.Dst || senders[f.Src] {
				t.Fatalf("incast at %v: %+v", f.Start, f)
			}
			senders[f.Src] = true
		}
		receivers[c.Flows[i].Dst] = true
	}
	share := float64(total) * 8 / (320 * 100e9 * 0.5)
	if n := float64(len(c.Flows)) / 60; math.Abs(share-0.02) > 4*0.02/math.Sqrt(n) { // Poisson: 1/√n
		t.Errorf("a load of %v of %v incasts", share, n)
	}
	if len(receivers) < 300 {
		t.Errorf("%d receivers", len(receivers))
	}
}

// TestIncastIntoOneHost checks that random senders to one host have the requested number, and do not include that
// host.
func TestIncastIntoOneHost(t *testing.T) {
	s := plantest.Load(t, room(), `title: t
duration: 1ms
repeat: 20
topology: {star: {hosts: 9, rate: 1Gbps, delay: 1us}}
switch: [forward]
traffic: [{name: x, from: {random: 7}, to: h3, transport: {window: {window: 1 packets}}, size: 1 kB}]
`, experiment.Options{})
	for _, r := range plan.ListRuns(s) {
		c, err := r.Config()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Flows {
			if f.Src == 3 || f.Dst != 3 {
				t.Errorf("a flow from %d to %d", f.Src, f.Dst)
			}
		}
		if len(c.Flows) != 7 {
			t.Errorf("%d flows", len(c.Flows))
		}
	}
}
