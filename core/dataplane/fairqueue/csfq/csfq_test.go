package csfq

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
func weighed(rates ...int) config {
	c := scheme.Defaults[config]()
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

// TestProgram_MatchesTranscript compares the program with testdata/csfq.txt, from an evaluation of CSFQ's figure 3 that
// shares no code with Weir's.
func TestProgram_MatchesTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/csfq.txt")
	if err != nil {
		t.Fatal(err)
	}
	link := unit.LinkRate{Bits: 1500 * unit.Kbps}
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: link}, {Rate: link}, {Rate: link},
		{Rate: link, Total: tm.Limit{Packets: 10}}}}
	var x *program
	dataplanetest.CheckTranscript(t, s, string(text), func(site *dataplane.Site) []dataplane.Program {
		if x, err = newProgram(site, weighed(10, 20, 10)); err != nil {
			t.Fatal(err)
		}
		return []dataplane.Program{x}
	}, func() string { return fmt.Sprintf("label %.6g alpha %.6g", x.label, x.ports[3].alpha) })
}

// TestPortState_DropProbabilityByHand checks the drop probability by hand: max(0, 1 − α/label).
func TestPortState_DropProbabilityByHand(t *testing.T) {
	for _, x := range []struct{ alpha, label, want float64 }{{0, 9, 0}, {10, 5, 0}, {10, 10, 0}, {10, 20, 0.5},
		{10, 40, 0.75}, {5e9, 1e11, 0.95}} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			p := PortState{alpha: x.alpha}
			if got := p.DropProbability(x.label); math.Abs(got-x.want) > 1e-12 {
				t.Errorf("%g", got)
			}
		})
	}
}

// TestPortState_OverflowLowersAlpha checks that a buffer overflow lowers alpha by 1 %, at most 25 % between two
// updates: 0.99^28 is 0.7547, 0.99^29 less than 0.75.
func TestPortState_OverflowLowersAlpha(t *testing.T) {
	p := PortState{}
	p.setAlpha(1000)
	for n := 1; n <= 40; n++ {
		p.lowerAlpha(0.01, 0.25)
		if want := max(1000*math.Pow(0.99, float64(n)), 750); math.Abs(p.alpha-want) > 1e-9 {
			t.Fatalf("after %d: %g, want %g", n, p.alpha, want)
		}
	}
}

// TestPortState_UpdatesAlphaByHand follows CSFQ's figure 3 by hand: a window of 200 ms with A at least C and F = 2C
// halves alpha.
func TestPortState_UpdatesAlphaByHand(t *testing.T) {
	c := weighed()
	p := PortState{congested: true}
	p.setAlpha(800)
	gap := unit.Millisecond // 2 Mb/s of 2000 bits
	at := 5 * unit.Second
	p.start = at
	p.a.AddPacket(at, 0, c.KAlpha)
	p.f.AddPacket(at, 0, c.KAlpha)
	for range 5000 { // F becomes 2 Mb/s
		at += gap
		p.a.AddPacket(at, 2000, c.KAlpha)
		p.f.AddPacket(at, 2000, c.KAlpha)
	}
	p.updateEstimate(at+gap, 900, 2000, 1e6, true, true, &c)
	if math.Abs(p.alpha-400) > 0.01 || p.start != at+gap {
		t.Errorf("alpha %g at %v, want 400", p.alpha, p.start)
	}
	p.updateEstimate(at+2*gap, 900, 2000, 1e6, true, true, &c)
	if math.Abs(p.alpha-400) > 0.01 {
		t.Errorf("alpha %g changes twice in a window", p.alpha)
	}
}

// TestPortState_CongestionStartsWithLargestLabel checks that a link that becomes congested starts with the largest
// label before, not with the present packet's. Labels from before the congestion do not count after it. By hand, at 1
// Mb/s: 100 packets of 1 Mb at one time are above it.
func TestPortState_CongestionStartsWithLargestLabel(t *testing.T) {
	c := weighed()
	p := PortState{}
	p.updateEstimate(unit.Millisecond, 900, 1, 1e6, true, true, &c)
	p.updateEstimate(2*unit.Millisecond, 100, 1e8, 1e6, true, true, &c)
	if !p.congested || p.alpha != 900 {
		t.Errorf("congested: %v, alpha %g, want 900", p.congested, p.alpha)
	}
	p.updateEstimate(10*unit.Second, 100, 1, 1e6, true, true, &c)
	if p.congested || p.largest != 0 {
		t.Errorf("congested: %v, the largest label is %g after congestion", p.congested, p.largest)
	}
}

// refuser refuses all packets.
type refuser struct{ why dataplane.Reason }

func (*refuser) Name() string { return "refuser" }
func (r *refuser) Admit(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	return dataplane.Drop(r.why)
}

// TestNoRoom checks that a packet without room in the buffer lowers alpha by 1 %, for any of the limits. Other drops do
// not.
func TestNoRoom(t *testing.T) {
	for _, x := range []struct {
		why  dataplane.Reason
		want float64
	}{{dataplane.QueuePacketLimit, 990}, {dataplane.QueueByteLimit, 990}, {dataplane.PortPacketLimit, 990},
		{dataplane.PortByteLimit, 990}, {dataplane.BufferFull, 990}, {dataplane.EgressThreshold, 990},
		{dataplane.EarlyDrop, 1000}, {dataplane.Evicted, 1000}} {
		t.Run(x.why.String(), func(t *testing.T) {
			s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Mbps}},
				{Rate: unit.LinkRate{Bits: unit.Mbps}}}}
			site := s.NewSite()
			p, err := newProgram(site, weighed())
			if err != nil {
				t.Fatal(err)
			}
			p.ports[1].setAlpha(1000)
			p.config.K = 1000 * unit.Second // labels are below alpha
			s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), p, &refuser{x.why}}
			dataplanetest.RunDirect(s, []dataplanetest.Arrival{{At: unit.Millisecond, Dst: 2, Payload: 100}})
			if got := p.ports[1].alpha; got != x.want {
				t.Errorf("alpha %g, want %g", got, x.want)
			}
		})
	}
}

// TestProgram_EvictAddressForgetsUser checks that only a source that becomes another's restarts.
func TestProgram_EvictAddressForgetsUser(t *testing.T) {
	s := dataplanetest.Setup{}
	for range 3 {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	site := s.NewSite()
	x, err := newProgram(site, weighed())
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
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil)
}

// TestProgram_SharesByWeight checks that a user below its fair share loses no packet in steady state. The others get
// equal shares, or shares by their weights, at 10 Mb/s and, with windows shorter in proportion, at 100 Gb/s.
func TestProgram_SharesByWeight(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Gbps} {
		for _, x := range dataplanetest.Sharings() {
			t.Run(fmt.Sprint(rate, " ", x.Name), func(t *testing.T) {
				c := weighed(x.References...)
				scale := float64(10*unit.Mbps) / float64(rate)
				c.K, c.KAlpha, c.KC = unit.Time(float64(c.K)*scale), unit.Time(float64(c.KAlpha)*scale),
					unit.Time(float64(c.KC)*scale)
				s := dataplanetest.NewLinks(len(x.Parts)+1, rate, 0)
				s.Ports[len(x.Parts)].Total.Packets = 100
				p, err := newProgram(s.NewSite(), c)
				if err != nil {
					t.Fatal(err)
				}
				x.CheckShares(t, s, 20*c.KC, p, 0.04, 0.002)
			})
		}
	}
}

// TestConfig_DefaultsMatchPaper checks that the defaults are the paper's.
func TestConfig_DefaultsMatchPaper(t *testing.T) {
	c := scheme.Defaults[config]()
	if c.K != 100*unit.Millisecond || c.KAlpha != 200*unit.Millisecond || c.KC != 200*unit.Millisecond ||
		c.Threshold != 0.5 || c.Overflow != 0.01 || c.MaxOverflow != 0.25 {
		t.Errorf("%+v", c)
	}
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Packets: 10}}}}
	if _, err := newProgram(s.NewSite(), c); err == nil {
		t.Error("a port with a rate in packets is taken")
	}
}

func TestNoAllocation(t *testing.T) {
	c := weighed()
	a := PortState{}
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += unit.Microsecond
		a.updateEstimate(now, 5, 8000, 1e9, true, true, &c)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExamplePortState_DropProbability() {
	p := PortState{}
	p.setAlpha(25e6)
	fmt.Println(p.DropProbability(20e6), p.DropProbability(100e6))
	// Output: 0 0.75
}
