package red

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
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

// TestProgram_MatchesTranscripts compares the program with transcripts made from RED's figure 2: a rising load, and an
// empty queue for a time. One has probabilities in proportion to the packets' lengths (RED §4).
func TestProgram_MatchesTranscripts(t *testing.T) {
	for _, x := range []struct {
		name, gentle, byBytes string
		marked, dropped       int
	}{{"gentle", "true", "false", 10, 20}, {"hard", "false", "false", 0, 50}, {"bytes", "true", "true", 10, 20}} {
		t.Run(x.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/red-" + x.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, marked, dropped := dataplanetest.CheckReplay(t, dataplanetest.NewLinks(2, 12*unit.Mbps, 1), string(text),
				build(t, "min", "7500 B", "max", "22500 B", "weight", "0.02", "mean_packet", "1500 B", "gentle", x.gentle,
					"by_bytes", x.byBytes))
			if marked < x.marked || dropped < x.dropped {
				t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
			}
		})
	}
}

func readConfig(t testing.TB, given ...string) *config {
	x, err := Scheme().Configure(given...)
	if err != nil {
		t.Fatal(err)
	}
	return x.(*config)
}

// TestConfig_DropProbabilityFollowsCurve checks that the probability is linear between min and max up to max_p. From
// there it rises gently to 1 at twice max, or is 1 at once (RED figure 2, Adaptive RED).
func TestConfig_DropProbabilityFollowsCurve(t *testing.T) {
	x := curve{min: 5000, max: 15000}
	for _, k := range []struct {
		gentle        string
		average, want float64
	}{{"true", 4999, 0}, {"true", 5000, 0}, {"true", 10000, 0.05}, {"true", 15000, 0.1}, {"true", 22500, 0.55},
		{"true", 30000, 1}, {"false", 10000, 0.05}, {"false", 15000, 1}} {
		t.Run(fmt.Sprint(k.gentle, " ", k.average), func(t *testing.T) {
			if got := readConfig(t, "gentle", k.gentle).dropProbability(&x, k.average); math.Abs(got-k.want) > 1e-12 {
				t.Errorf("%v, want %v", got, k.want)
			}
		})
	}
}

// TestByRate follows Adaptive RED by hand, with packets of 1250 bytes. At 10 Mb/s a second has 1000 of them, so w_q is
// 1 − e^−0.001 = 0.0009995. 5 ms are 6250 B, and half of that is less than 5 packets. At 1 Gb/s min is half of 625 kB.
func TestByRate(t *testing.T) {
	c := readConfig(t, "mean_packet", "1250 B")
	for _, k := range []struct {
		rate             unit.Rate
		min, max, weight float64
	}{{10 * unit.Mbps, 6250, 18750, 0.0009995}, {unit.Gbps, 312500, 937500, 0.00001},
		{100 * unit.Gbps, 31250000, 93750000, 0.0000001}} {
		t.Run(k.rate.String(), func(t *testing.T) {
			x := c.curveAt(unit.LinkRate{Bits: k.rate})
			if x.min != k.min || x.max != k.max || math.Abs(x.weight/k.weight-1) > 1e-4 {
				t.Errorf("%+v, want %v, %v, %v", x, k.min, k.max, k.weight)
			}
		})
	}
}

// TestProgram_DrawsUniformDropGaps checks RED §4, method 2: with p_b = 1/10 the packets between two drops are uniform
// in 1 … 10. Their mean is 5.5, and no gap is longer.
func TestProgram_DrawsUniformDropGaps(t *testing.T) {
	r := &Program{random: unit.NewRandom(1, "red")}
	total, drops, count := 0, 0, int64(0)
	for range 200000 {
		count++
		if r.drawDrop(0.1, count-1, 1000) {
			if count > 10 {
				t.Fatalf("%d packets from drop to drop", count)
			}
			total += int(count)
			drops++
			count = 0
		}
	}
	if mean := float64(total) / float64(drops); math.Abs(mean-5.5) > 0.05 {
		t.Errorf("%.2f packets from drop to drop", mean)
	}
}

// TestByBytes checks RED §4: with by_bytes p_b is in proportion to the packet's length, up to a full one's. Where all
// packets are dropped a short one is, too. The number drawn is 0.73; p_a is p_b / (1 − count·p_b).
func TestByBytes(t *testing.T) {
	for _, x := range []struct {
		pb    float64
		count int64
		size  int32
		want  bool
	}{{0.2, 5, 1500, true}, {0.2, 5, 1499, true}, {0.2, 5, 750, false}, // 0.1 / 0.5 = 0.2
		{0.2, 9, 750, true}, {0.2, 2, 1500, false}, {0.2, 2, 3000, false}, // 0.2 / 0.6 = 0.33, and not 0.4 / 0.2
		{1, 0, 64, true}, {0.99, 0, 64, false}} {
		t.Run(fmt.Sprint(x.pb, " ", x.count, " ", x.size), func(t *testing.T) {
			r := &Program{config: *readConfig(t, "by_bytes", "true", "mean_packet", "1500 B"),
				random: (&dataplanetest.Weyl{}).Random()}
			if got := r.drawDrop(x.pb, x.count, x.size); got != x.want {
				t.Errorf("%t, want %t", got, x.want)
			}
		})
	}
}

// TestNoLossAtLowLoad checks that a queue that stays short loses no packet, and neither does a burst, which the average
// hardly contains.
func TestNoLossAtLowLoad(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps, 100 * unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			dataplanetest.CheckNoEarlyDrops(t, rate, 60, build(t))
		})
	}
}

// FuzzProgram_DropsOnlyByLaw checks for any arrivals that packets are dropped only by the law, and never while fewer
// bytes wait than min.
func FuzzProgram_DropsOnlyByLaw(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40})
	f.Add([]byte("a queue whose average grows, and falls again"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := dataplanetest.NewLinks(2, 10*unit.Mbps, 2)
		s.Programs = build(t, "min", "3000 B", "max", "9000 B", "weight", "0.2", "by_bytes", "true")(s.NewSite())
		script := dataplanetest.FuzzBursts(b)
		got := dataplanetest.RunSorted(t, s, script)
		drops, longest := got.Drops[dataplane.EarlyDrop], unit.Time(0)
		if n := len(got.Departures) + int(drops); n != len(script) {
			t.Errorf("%d arrive, %d leave or are dropped", len(script), n)
		}
		for _, d := range got.Departures {
			longest = max(longest, d.At-script[d.Seq].At)
		}
		if drops > 0 && longest < unit.TransmitTime(3000, 10*unit.Mbps) {
			t.Errorf("%d are dropped, and nothing waits longer than %v", drops, longest)
		}
	})
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.NewLinks(1, unit.Gbps, 1)
	for _, bad := range [][]string{{"target", "0s"}, {"max_p", "0%"}, {"weight", "2"}, {"min", "9 kB", "max", "9 kB"},
		{"max", "10 kB"}} { // below what min is by the target
		t.Run(strings.Join(bad, " "), func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), bad...); err == nil {
				t.Errorf("%v is taken", bad)
			}
		})
	}
}

func ExampleScheme() {
	fmt.Println(Scheme().Name, Scheme().Parameters()[0].Default)
	// Output: red 5ms
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil, "min",
		"6 packets",
		"max", "18 packets", "weight", "0.2")
}
