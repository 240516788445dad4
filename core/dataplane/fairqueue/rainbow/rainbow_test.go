package rainbow

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
func weighed(rates ...int) Config {
	c := scheme.Defaults[Config]()
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

func ports(n int, rate unit.Rate, limit int32) dataplanetest.Setup {
	return dataplanetest.NewSetup(n, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate}, Total: tm.Limit{Packets: limit}})
}

// colours stores the colour of the current packet.
type colours struct{ last uint32 }

func (c *colours) Name() string { return "colours" }
func (c *colours) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	c.last = p.Meta.User
	return dataplane.Accept
}

// TestProgram_MatchesTranscript compares the program with testdata/rainbow.txt, from an evaluation that shares no code
// with Weir's.
func TestProgram_MatchesTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/rainbow.txt")
	if err != nil {
		t.Fatal(err)
	}
	var x *Program
	c := &colours{}
	dataplanetest.CheckTranscript(t, ports(4, 1500*unit.Kbps, 24), string(text),
		func(site *dataplane.Site) []dataplane.Program {
			k := weighed(10, 20, 10)
			k.Colours, k.From, k.To = 64, 1500, 1500*unit.Kbps
			k.Low, k.High = unit.Depth{Packets: 6}, unit.Depth{Packets: 12}
			if x, err = New(site, k); err != nil {
				t.Fatal(err)
			}
			return []dataplane.Program{x, c}
		}, func() string { return fmt.Sprintf("colour %d threshold %d", c.last, x.ports[3].threshold) })
}

// TestProgram_ColoursThroughputByHand checks layers by hand: four colours over a factor of 1000 are a factor of 10
// apart, from 1 Mb/s.
func TestProgram_ColoursThroughputByHand(t *testing.T) {
	c := weighed()
	c.Colours, c.From, c.To = 4, unit.Mbps, unit.Gbps
	s := ports(1, unit.Gbps, 0)
	x, err := New(s.NewSite(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range []struct {
		throughput float64
		want       uint32
	}{{0, 0}, {1e6, 0}, {1.01e6, 1}, {9.9e6, 1}, {10.1e6, 2}, {101e6, 3}, {1e12, 3}} {
		t.Run(fmt.Sprint(y.throughput), func(t *testing.T) {
			if got := x.ColourOf(y.throughput); got != y.want {
				t.Errorf("%d, want %d", got, y.want)
			}
		})
	}
}

// TestPortState_MovesThreshold checks that the threshold falls from the highest arrived colour while a long queue does
// not become shorter, and rises while it is short. 0 is the last.
func TestPortState_MovesThreshold(t *testing.T) {
	k := portState{threshold: 63}
	for i, x := range []struct {
		highest uint32
		queue   float64
		want    uint32
	}{{40, 13, 39}, {50, 20, 38}, {50, 19, 38}, {50, 19, 37}, {50, 12, 37}, {50, 6, 37}, {50, 5, 38}, {0, 30, 0},
		{0, 30, 0}, {0, 0, 1}} {
		k.highest = x.highest
		if k.moveThreshold(x.queue, 6, 12, 63); k.threshold != x.want {
			t.Errorf("step %d: threshold %d, want %d", i, k.threshold, x.want)
		}
	}
}

// TestProgram_EvictAddressForgetsUser checks that only a source that becomes another's restarts.
func TestProgram_EvictAddressForgetsUser(t *testing.T) {
	s := ports(3, unit.Gbps, 0)
	site := s.NewSite()
	x, err := New(site, weighed())
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

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil, "interval",
		"100us")
}

// TestProgram_SharesByWeight checks that users get equal shares, or shares by their weights, and a user below its share
// loses almost no packets: at 10 Mb/s and, with constants shorter in proportion, at 100 Gb/s. Colours are 11.6 % apart.
func TestProgram_SharesByWeight(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Gbps} {
		for _, x := range dataplanetest.Sharings() {
			t.Run(fmt.Sprint(rate, " ", x.Name), func(t *testing.T) {
				s := ports(4, rate, 100)
				c := weighed(x.References...)
				c.Low, c.High = unit.Depth{Packets: 20}, unit.Depth{Packets: 50}
				scale := float64(10*unit.Mbps) / float64(rate)
				c.K, c.Interval = unit.Time(float64(c.K)*scale), unit.Time(float64(c.Interval)*scale)
				p, err := New(s.NewSite(), c)
				if err != nil {
					t.Fatal(err)
				}
				x.CheckShares(t, s, unit.Time(4e12*scale), p, 0.06, 0.01)
			})
		}
	}
}

// TestScheme_RejectsBadParameters checks that impossible parameters are refused or give a warning.
func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Packets: 10}}}}
	if _, err := New(s.NewSite(), weighed()); err == nil {
		t.Error("a port with a rate in packets is taken")
	}
	for _, given := range [][]string{{"low", "5ms"}, {"low", "6 kB"},
		{"high", "12 packets"}, {"colours", "1"}, {"from", "100Gbps"}, {"to", "1kbps"}} {
		if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), given...); err == nil {
			t.Errorf("%v is taken", given)
		}
	}
}

// TestConfig_CheckRemarksUnsuitablePorts checks that unsuitable ports give a warning. The slowest port counts: faster
// ones with the same buffer give none.
func TestConfig_CheckRemarksUnsuitablePorts(t *testing.T) {
	for _, x := range []struct {
		name   string
		rate   unit.Rate
		buffer int32
		change func(*Config)
		want   string
	}{
		{"defaults, slow", 10 * unit.Mbps, 24, func(*Config) {}, "[]"},
		{"defaults, fast", 100 * unit.Gbps, 100000, func(*Config) {}, "[]"},
		{"buffer of 6 ms", 50 * unit.Mbps, 24, func(*Config) {}, "[high]"},
		{"3 ms in it", 50 * unit.Mbps, 24, func(c *Config) {
			c.Low.Time, c.High.Time = c.Low.Time/2, 3*unit.Millisecond
		}, "[]"},
		{"short buffer", unit.Gbps, 24, func(*Config) {}, "[high]"},
		{"packets", unit.Gbps, 24, func(c *Config) {
			c.Low, c.High = unit.Depth{Packets: 6}, unit.Depth{Packets: 24}
		}, "[high]"},
		{"short interval", unit.Gbps, 1000, func(c *Config) { c.Interval = unit.Millisecond }, "[interval]"},
		{"few colours", unit.Gbps, 1000, func(c *Config) { c.Colours = 8 }, "[colours]"},
		{"first layer", 500 * unit.Kbps, 24, func(*Config) {}, "[from]"},
		{"last layer", unit.Gbps, 1000, func(c *Config) { c.To = 100 * unit.Mbps }, "[to]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := weighed()
			x.change(&c)
			fast := dataplane.Peer{To: "a", Rate: unit.LinkRate{Bits: 100 * unit.Gbps}, Buffer: unit.Length{Packets: 24}}
			at := dataplane.Peer{To: "b", Rate: unit.LinkRate{Bits: x.rate}, Buffer: unit.Length{Packets: x.buffer}}
			ports := []dataplane.Peer{fast, at}
			if x.rate == fast.Rate.Bits {
				ports = ports[1:]
			}
			got := []string{}
			for _, r := range c.Check(&dataplane.SwitchContext{Ports: ports, MaxRTT: 100 * unit.Millisecond}) {
				got = append(got, r.Param)
			}
			if fmt.Sprint(got) != x.want {
				t.Errorf("%v, want %s", got, x.want)
			}
		})
	}
}

// TestFastAccess checks that layers do not depend on other ports. Behind access links of 100 Gb/s, users that send ten
// times their share get no more than those that send twice theirs, few or many, at a slow port and at a fast one.
func TestFastAccess(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Mbps} {
		for _, n := range []int{2, 60} { // a Counter has room for 64
			t.Run(fmt.Sprint(rate, " ", n), func(t *testing.T) {
				s := ports(n, 100*unit.Gbps, 0)
				s.Ports = append(s.Ports, ports(1, rate, 0).Ports...)
				s.Ports[n].Total.Bytes = unit.Bytes(rate) / 160 // 50 ms
				site := s.NewSite()
				x, err := New(site, weighed())
				if err != nil {
					t.Fatal(err)
				}
				parts := make([]float64, n)
				for i := range parts {
					parts[i] = []float64{2, 10}[i%2] / float64(n)
				}
				size, until := int32(rate/(10*unit.Kbps)), 4*unit.Second // 1250 packets a second
				k := &dataplanetest.Counter{From: until / 2}
				s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, k}
				got := dataplanetest.RunDirect(s, dataplanetest.ConstantTraffic(rate, size, until, packet.Addr(n+1), parts...))
				if got.Live != 0 {
					t.Fatal("it is too long")
				}
				var sum [2]float64
				for i := range parts {
					sum[i%2] += float64(k.Passed[i]*int64(size)*8) / (float64(rate) * (until / 2).Seconds())
				}
				if math.Abs(sum[0]-0.5) > 0.06 || math.Abs(sum[1]-0.5) > 0.06 {
					t.Errorf("those who send twice and ten times their shares get %.3f of the link", sum)
				}
			})
		}
	}
}

func TestNoAllocation(t *testing.T) {
	s := ports(1, unit.Gbps, 0)
	x, err := New(s.NewSite(), weighed())
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { x.ports[0].moveThreshold(float64(x.ColourOf(3e6)), 6, 12, 63) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleProgram_ColourOf() {
	s := ports(1, unit.Gbps, 0)
	x, err := New(s.NewSite(), weighed())
	fmt.Println(x.ColourOf(9e3), x.ColourOf(1e6), x.ColourOf(1e9/2), err)
	// Output: 0 43 99 <nil>
}
