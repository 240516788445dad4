package pie

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

func build(t testing.TB, given ...string) func(site *dataplane.Site) []dataplane.Program {
	return func(site *dataplane.Site) []dataplane.Program {
		site.Random = func(string) unit.Random { return (&dataplanetest.Weyl{}).Random() }
		p, err := dataplanetest.BuildProgram(Scheme(), site, given...)
		if err != nil {
			t.Fatal(err)
		}
		return []dataplane.Program{p}
	}
}

// TestProgram_MatchesTranscripts compares the program with transcripts made from RFC 8033 §4, §5 and its appendices,
// with gains that act within one second.
func TestProgram_MatchesTranscripts(t *testing.T) {
	for _, x := range []struct {
		name            string
		marked, dropped int
	}{{"time", 0, 20}, {"rate", 5, 10}} {
		t.Run(x.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/pie-" + x.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, marked, dropped := dataplanetest.CheckReplay(t, dataplanetest.NewLinks(2, 12*unit.Mbps, 1), string(text),
				build(t, "target", "5ms", "max_burst", "60ms", "mark_up_to", "30%", "alpha", "2", "beta", "20", "delay", x.name))
			if marked < x.marked || dropped < x.dropped {
				t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
			}
		})
	}
}

// TestActiveTranscript checks RFC 8033 §5.3: PIE becomes active where a third of the buffer is full, and inactive where
// a packet finds an idle queue. Each time it starts with a new allowance for bursts.
func TestActiveTranscript(t *testing.T) {
	for _, x := range []struct {
		name, delay     string
		marked, dropped int
	}{{"third", "time", 0, 100}, {"third-rate", "rate", 5, 50}} {
		t.Run(x.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/pie-" + x.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			s := dataplanetest.NewLinks(2, 12*unit.Mbps, 1)
			s.Ports[1].Total.Packets = 24
			_, marked, dropped := dataplanetest.CheckReplay(t, s, string(text), build(t, "target", "5ms", "max_burst", "30ms",
				"mark_up_to", "30%", "alpha", "10", "beta", "100", "delay", x.delay, "active_from", "33.3%"))
			if marked < x.marked || dropped < x.dropped {
				t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
			}
		})
	}
}

// TestIsFilled_UsesQueueOrPortLimit checks that a queue is long by its own limit or by its port's, in packets or bytes.
// Without a limit PIE is active at once.
func TestIsFilled_UsesQueueOrPortLimit(t *testing.T) {
	for _, x := range []struct {
		each, total tm.Limit
		want        int // packets of 1000 bytes in queue 0 from which on it is active, beside two in queue 1
	}{{tm.Limit{}, tm.Limit{}, 0}, {tm.Limit{Packets: 9}, tm.Limit{}, 3}, {tm.Limit{Bytes: 12000}, tm.Limit{}, 4},
		{tm.Limit{}, tm.Limit{Packets: 21}, 5}, {tm.Limit{}, tm.Limit{Bytes: 30000}, 8},
		{tm.Limit{Packets: 60}, tm.Limit{Packets: 21}, 5}} {
		t.Run(fmt.Sprint(x.each, x.total), func(t *testing.T) {
			p := tm.NewPort(tm.NewBuffer(2, x.each, x.total), tm.NewStrict(), unit.LinkRate{Bits: unit.Mbps})
			p.Push(1, &packet.Packet{Size: 1000})
			p.Push(1, &packet.Packet{Size: 1000})
			n := 0
			for ; !isFilled(p, 0, 1.0/3); n++ {
				p.Push(0, &packet.Packet{Size: 1000})
			}
			if n != x.want {
				t.Errorf("active from %d packets on, want %d", n, x.want)
			}
		})
	}
}

// TestQueueState_UpdatesProbabilityByHand follows RFC 8033 §4.2 by hand: alpha 0.125, beta 1.25, target 15 ms. At 25 ms
// after 20 ms the change is 0.125·0.010 + 1.25·0.005 = 0.0075, divided by 2048 … 2 according to the probability. From
// 10 % on it is not divided, and at most 2 %. Two updates without delay reduce by 2 %.
func TestQueueState_UpdatesProbabilityByHand(t *testing.T) {
	var c config
	if x, err := Scheme().Configure(); err != nil {
		t.Fatal(err)
	} else {
		c = *x.(*config)
	}
	for _, x := range []struct{ probability, old, delay, want float64 }{
		{0, 0.020, 0.025, 0.0075 / 2048}, {0.000005, 0.020, 0.025, 0.000005 + 0.0075/512},
		{0.00005, 0.020, 0.025, 0.00005 + 0.0075/128}, {0.0005, 0.020, 0.025, 0.0005 + 0.0075/32},
		{0.005, 0.020, 0.025, 0.005 + 0.0075/8}, {0.05, 0.020, 0.025, 0.05 + 0.0075/2},
		{0.2, 0.020, 0.025, 0.2075}, {0.2, 0.020, 0.100, 0.22}, {0.99, 0.020, 0.100, 1}, {0.001, 0.020, 0, 0},
		// 0.125·(−0.015) = −0.001875, and then 0.98 of it
		{0.2, 0, 0, 0.198125 * 0.98},
	} {
		t.Run(fmt.Sprint(x.probability, " ", x.old, " ", x.delay), func(t *testing.T) {
			s := queueState{probability: x.probability, oldDelay: x.old, burstLeft: 0.150}
			if s.updateProbability(&c, x.delay); math.Abs(s.probability-x.want) > 1e-15 || s.oldDelay != x.delay ||
				math.Abs(s.burstLeft-0.135) > 1e-15 {
				t.Errorf("%+v, want probability %v", s, x.want)
			}
		})
	}
}

// TestQueueState_SpreadsDropsEvenly checks RFC 8033 §5.4: at 10 % the packets 1 to 8 after a drop are never dropped,
// and number 85 always is.
func TestQueueState_SpreadsDropsEvenly(t *testing.T) {
	never := unit.NewRandom(1, "x") // whose first numbers are above 10 %
	s := queueState{probability: 0.1}
	c := config{Spread: true}
	for k := 1; k <= 8; k++ {
		if s.drawDrop(&c, never) {
			t.Fatalf("packet %d goes", k)
		}
	}
	if s = (queueState{probability: 0.1, gatheredProbability: 8.41}); !s.drawDrop(&c, never) ||
		s.gatheredProbability != 0 {
		t.Errorf("8.5 are gathered, and nothing goes: %+v", s)
	}
}

// TestNoLossAtLowLoad checks that a queue loses no packet, at any rate, while it stays short, or while a burst makes it
// long for less than its allowance.
func TestNoLossAtLowLoad(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps, 100 * unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			dataplanetest.CheckNoEarlyDrops(t, rate, 60, build(t))
		})
	}
}

// FuzzProgram_DropsOnlyByLaw checks for any arrivals that packets are dropped only by the law, and never while the
// queue holds two packets at most.
func FuzzProgram_DropsOnlyByLaw(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40})
	f.Add([]byte("a queue that stays above its target for a rather long time"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := dataplanetest.NewLinks(2, 10*unit.Mbps, 2)
		s.Programs = build(t, "target", "1ms", "update", "1ms", "max_burst", "2ms", "alpha", "100", "beta",
			"1000")(s.NewSite())
		script := dataplanetest.FuzzBursts(b)
		got := dataplanetest.RunSorted(t, s, script)
		if n := len(got.Departures) + int(got.Drops[dataplane.EarlyDrop]); n != len(script) {
			t.Errorf("%d arrive, %d leave or are dropped", len(script), n)
		}
	})
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.NewLinks(1, unit.Gbps, 1)
	for _, bad := range [][]string{{"target", "0s"}, {"update", "0s"}, {"alpha", "0"}, {"mark_up_to", "110%"}} {
		t.Run(strings.Join(bad, " "), func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), bad...); err == nil {
				t.Errorf("%v is taken", bad)
			}
		})
	}
}

func ExampleScheme() {
	for _, p := range Scheme().Parameters()[:3] {
		fmt.Println(p.Name, p.Default)
	}
	// Output:
	// target 15ms
	// update 15ms
	// max_burst 150ms
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil, "target",
		"50us",
		"update", "100us", "max_burst", "0s", "alpha", "100", "beta", "1000")
}
