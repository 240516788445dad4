package codel_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// short is a law that acts within a transcript that can be read.
var short = []string{"target", "2ms", "interval", "20ms"}

func build(t testing.TB, given ...string) func(site *dataplane.Site) []dataplane.Program {
	return func(site *dataplane.Site) []dataplane.Program {
		p, err := dataplanetest.BuildProgram(codel.Scheme(), site, given...)
		if err != nil {
			t.Fatal(err)
		}
		return []dataplane.Program{p}
	}
}

// TestProgram_MatchesTranscripts compares the program with transcripts that follow RFC 8289 §5. They have four bursts:
// the second soon after the first, the third long after it, and the fourth between 8 and 16 intervals after that.
func TestProgram_MatchesTranscripts(t *testing.T) {
	for _, x := range []struct {
		name            string
		marked, dropped int
	}{{"drop", 0, 100}, {"ecn", 100, 30}} {
		t.Run(x.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/codel-" + x.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, marked, dropped := dataplanetest.CheckReplay(t, dataplanetest.NewLinks(2, 12*unit.Mbps, 1), string(text),
				build(t, short...))
			if marked < x.marked || dropped < x.dropped {
				t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
			}
		})
	}
}

// TestWithoutECN checks that without ECN a packet that could be marked is dropped where another one would be.
func TestWithoutECN(t *testing.T) {
	text, err := os.ReadFile("testdata/codel-drop.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(string(text), " 0 1500:", " 2 1500:")
	dataplanetest.CheckReplay(t, dataplanetest.NewLinks(2, 12*unit.Mbps, 1), lines, build(t, append(short, "ecn",
		"false")...))
}

// TestNoLossAtLowLoad checks RFC 8289 §4 at any rate: a queue loses no packet while it stays below the target, or while
// a burst makes it long for less than an interval. Packets of several ports do not meet.
func TestNoLossAtLowLoad(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps, 100 * unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			dataplanetest.CheckNoEarlyDrops(t, rate, 40, build(t))
		})
	}
}

// TestDelayIsBounded checks an unresponsive load: drops become more frequent, by the root of their number (RFC 8289
// §5). The queue's delay ends near the target for any multiple of the link's rate.
func TestDelayIsBounded(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			s := dataplanetest.NewLinks(2, rate, 1)
			s.Programs = build(t)(s.NewSite())
			frame := unit.TransmitTime(1500, rate)
			n := int(20 * unit.Second / frame * 21 / 20)
			if n > 40000 {
				n = 40000
			}
			script := dataplanetest.SteadyTraffic(n, frame*20/21, 1500, 2)
			got := dataplanetest.RunSorted(t, s, script)
			drops := got.Drops[dataplane.EarlyDrop]
			if drops == 0 {
				t.Fatal("nothing is dropped")
			}
			last := got.Departures[len(got.Departures)-1]
			wait := last.At - script[last.Seq].At
			if most := 40 * unit.Millisecond; rate == 10*unit.Mbps && wait > most {
				t.Errorf("after 20 s packets wait %v, want at most %v; %d are dropped", wait, most, drops)
			}
		})
	}
}

// FuzzProgram_DropsOnlyByLaw checks for any arrivals that packets are dropped only by the law. A queue that was always
// short loses no packet, and the law never takes the last packet of a queue.
func FuzzProgram_DropsOnlyByLaw(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40})
	f.Add([]byte("a queue that stays above its target for long"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := dataplanetest.NewLinks(2, 10*unit.Mbps, 2)
		s.Programs = append(build(t, "target", "1ms", "interval", "3ms")(s.NewSite()), &classes{})
		var script []dataplanetest.Arrival
		at := unit.Time(0)
		for i, x := range b {
			for k := range int(x%16) + 1 {
				at += unit.Time(x>>4) * 40 * unit.Microsecond
				script = append(script, dataplanetest.Arrival{At: at, Dst: 2, Seq: int64(len(script)),
					Payload: int32(22 + (i*97+k*331)%1400), TOS: uint8(i) & 3})
			}
		}
		got := dataplanetest.RunSorted(t, s, script)
		longest := unit.Time(0)
		for _, d := range got.Departures {
			longest = max(longest, d.At-script[d.Seq].At)
		}
		drops := got.Drops[dataplane.EarlyDrop]
		if len(got.Departures)+int(drops) != len(script) {
			t.Errorf("%d arrive, %d leave, %d are dropped", len(script), len(got.Departures), drops)
		}
		if longest < 1*unit.Millisecond && drops > 0 {
			t.Errorf("%d are dropped, and nothing waits for %v", drops, longest)
		}
	})
}

// classes spreads packets over two queues.
type classes struct{}

func (*classes) Name() string { return "classes" }
func (*classes) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = uint8(p.Seq>>2) & 1
	return dataplane.Accept
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.NewLinks(1, unit.Gbps, 1)
	for _, bad := range [][]string{{"target", "100ms"}, {"target", "0s"}, {"interval", "1ms"}, {"max_packet", "1 B"}} {
		t.Run(strings.Join(bad, " "), func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(codel.Scheme(), s.NewSite(), bad...); err == nil {
				t.Errorf("%v is taken", bad)
			}
		})
	}
}

func ExampleScheme() {
	for _, p := range codel.Scheme().Parameters() {
		fmt.Println(p.Name, p.Default)
	}
	// Output:
	// target 5ms
	// interval 100ms
	// ecn true
	// max_packet 1514 B
}

func same(p dataplanetest.Port) dataplanetest.Port { return p }

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, codel.Scheme(), same, nil, "target", "100us", "interval", "1ms")
}
