package dualpi2

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

const ms = unit.Millisecond

// ports have a time-shifted FIFO.
func ports(n int, rate unit.Rate, shift unit.Time) dataplanetest.Setup {
	return dataplanetest.NewSetup(n, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate}, Queues: 2},
		func(p dataplanetest.Port) dataplanetest.Port {
			p.Scheduler = tm.NewDeadline([]unit.Time{0, shift})
			return p
		})
}

func build(t testing.TB, given ...string) func(site *dataplane.Site) []dataplane.Program {
	return func(site *dataplane.Site) []dataplane.Program {
		p, err := dataplanetest.BuildProgram(Scheme(), site, given...)
		if err != nil {
			t.Fatal(err)
		}
		return []dataplane.Program{p}
	}
}

// TestProgram_MatchesTranscript compares the program with a transcript made from RFC 9332 appendix A: classic senders
// with and without ECN next to scalable ones, then only scalable ones above their share, then both beyond the link,
// into overload.
func TestProgram_MatchesTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/dualpi2.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, marked, dropped := dataplanetest.CheckReplay(t, ports(2, 12*unit.Mbps, 10*ms), string(text), build(t, "target",
		"5ms",
		"max_rtt", "20ms"))
	if marked < 100 || dropped < 20 {
		t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
	}
}

func readConfig(t testing.TB, given ...string) config {
	x, err := Scheme().Configure(given...)
	if err != nil {
		t.Fatal(err)
	}
	return x.(*config).withDerived()
}

// TestPortState_UpdatesBaseByHand follows RFC 9332 appendix A with its defaults: an update every 15 ms, alpha
// 0.1·0.015/0.1² = 0.15, beta 0.3/0.1 = 3. At 25 ms after 20 ms the base moves by 0.15·0.010 + 3·0.005 = 0.0165.
func TestPortState_UpdatesBaseByHand(t *testing.T) {
	c := readConfig(t)
	if c.Update != 15*ms || math.Abs(c.Alpha-0.15) > 1e-12 || math.Abs(c.Beta-3) > 1e-12 {
		t.Errorf("%+v", c)
	}
	for _, x := range []struct{ base, old, delay, want float64 }{{0, 0.020, 0.025, 0.0165}, {0.1, 0.020, 0.025, 0.1165},
		{0.01, 0.020, 0, 0}, {0.99, 0, 0.1, 1}, {0.1, 0.015, 0.015, 0.1}} {
		t.Run(fmt.Sprint(x.base, " ", x.delay), func(t *testing.T) {
			s := portState{probability: x.base, oldDelay: x.old}
			if s.updateBase(&c, x.delay); math.Abs(s.probability-x.want) > 1e-12 || s.oldDelay != x.delay {
				t.Errorf("%+v, want %v", s, x.want)
			}
		})
	}
}

// TestConfig_RampRisesOverRange checks that the ramp rises from 0 at 800 us to 1 at 1200 us. Without a range it is a
// step (RFC 9332 appendix A).
func TestConfig_RampRisesOverRange(t *testing.T) {
	for _, x := range []struct {
		span  string
		delay unit.Time
		want  float64
	}{{"400us", 800 * unit.Microsecond, 0}, {"400us", ms, 0.5}, {"400us", 1200 * unit.Microsecond, 1}, {"0s",
		799 * unit.Microsecond, 0}, {"0s", 800 * unit.Microsecond, 1}} {
		t.Run(fmt.Sprint(x.span, " ", x.delay), func(t *testing.T) {
			if c := readConfig(t, "range", x.span); c.rampProbability(x.delay) != x.want {
				t.Errorf("%v, want %v", c.rampProbability(x.delay), x.want)
			}
		})
	}
}

// TestPortState_CouplesClassicBySquare follows RFC 9332 §2.1: p_C = (p_CL / k)²: with a base of 0.2 and k 2 40 % of the
// scalable packets and 4 % of the others go.
func TestPortState_CouplesClassicBySquare(t *testing.T) {
	s := portState{probability: 0.2}
	counts := [2]int{}
	for range 10000 {
		for q, p := range []float64{2 * s.probability, s.probability * s.probability} {
			if s.isDue(q, p) {
				counts[q]++
			}
		}
	}
	if math.Abs(float64(counts[0])-4000) > 1 || math.Abs(float64(counts[1])-400) > 1 {
		t.Errorf("%v, want 4000 and 400", counts)
	}
}

// TestNoLossAtLowLoad checks that short queues lose and mark no packet, at any rate, on all ports.
func TestNoLossAtLowLoad(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps, 100 * unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			s := ports(3, rate, 50*ms)
			s.Programs = build(t)(s.NewSite())
			frame := unit.TransmitTime(1500, rate)
			var script []dataplanetest.Arrival
			for i := range 3000 {
				script = append(script, dataplanetest.Arrival{At: unit.Time(i) * frame * 3, Dst: 2, TOS: uint8(i % 3),
					Payload: 1458}, dataplanetest.Arrival{At: unit.Time(i) * frame * 2, Dst: 3, TOS: packet.ECT1, Payload: 1458})
			}
			got := dataplanetest.RunSorted(t, s, script)
			for _, d := range got.Departures {
				if d.TOS&packet.ECN == packet.CE {
					t.Fatalf("packet of %v is marked", d.At)
				}
			}
			if got.Drops[dataplane.EarlyDrop] != 0 {
				t.Errorf("%d packets are dropped", got.Drops[dataplane.EarlyDrop])
			}
		})
	}
}

// TestRoundRobin checks RFC 9332 appendix A with weighted round robin of 15 to 1 in place of the time-shifted FIFO.
// Unresponsive scalable senders cannot starve classic ones below 1/16 of the link, and a sender below that waits for at
// most one turn. The controller is slow here: only the scheduler decides.
func TestRoundRobin(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps} {
		for _, x := range []struct {
			classic float64 // that they send, in parts of the link; scalable ones send 1.5 of it
			least   float64 // what they get
		}{{0.04, 0.04}, {0.5, 1.0 / 16}} {
			t.Run(fmt.Sprint(rate, x.classic), func(t *testing.T) {
				s := ports(2, rate, 0)
				for i := range s.Ports {
					s.Ports[i].Scheduler = tm.NewDWRR([]int32{15, 1}, 1500)
				}
				s.Programs = build(t, "target", "10s", "max_rtt", "10s", "min_th", "10s")(s.NewSite())
				frame := unit.TransmitTime(1500, rate)
				end := 4000 * frame
				var script []dataplanetest.Arrival
				add := func(gap unit.Time, tos uint8) {
					for at := gap; at < end; at += gap {
						script = append(script, dataplanetest.Arrival{At: at, Dst: 2, TOS: tos, Payload: 1458})
					}
				}
				add(unit.Time(float64(frame)/x.classic), packet.NotECT)
				add(frame*2/3, packet.ECT1)
				slices.SortStableFunc(script, func(a, b dataplanetest.Arrival) int { return int(min(max(a.At-b.At, -1), 1)) })
				for i := range script {
					script[i].Seq = int64(i)
				}
				n, late := 0, unit.Time(0)
				for _, d := range dataplanetest.RunSorted(t, s, script).Departures {
					if d.At <= end && d.TOS == packet.NotECT {
						n, late = n+1, max(late, d.At-script[d.Seq].At)
					}
				}
				if got := float64(n) / 4000; math.Abs(got-x.least) > 0.002 {
					t.Errorf("classic senders get %.4f of the link, want %.4f", got, x.least)
				}
				if x.classic < 1.0/16 && late > 18*frame {
					t.Errorf("a packet of who sends little waits %v, %d frames", late, late/frame)
				}
			})
		}
	}
}

// FuzzProgram_DropsOnlyByLaw checks for any arrivals that packets are dropped only by the law, that only capable
// packets are marked, and that queues keep their order.
func FuzzProgram_DropsOnlyByLaw(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40})
	f.Add([]byte("two queues that are coupled, for scalable senders and for others"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := ports(2, 10*unit.Mbps, 2*ms)
		s.Programs = build(t, "target", "1ms", "max_rtt", "3ms", "scalable", []string{"ect1", "any"}[len(b)&1])(s.NewSite())
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
		if n := len(got.Departures) + int(got.Drops[dataplane.EarlyDrop]); n != len(script) {
			t.Errorf("%d arrive, %d leave or are dropped", len(script), n)
		}
		last := [4]int64{-1, -1, -1, -1}
		for _, d := range got.Departures {
			was := script[d.Seq].TOS
			if was == packet.NotECT && d.TOS != was || d.TOS != was && d.TOS != packet.CE {
				t.Errorf("packet %d comes with ECN field %d and leaves with %d", d.Seq, was, d.TOS)
			}
			if last[was] > d.Seq {
				t.Errorf("packet %d leaves behind packet %d", d.Seq, last[was])
			}
			last[was] = d.Seq
		}
	})
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	two, one := ports(1, unit.Gbps, ms), ports(1, unit.Gbps, ms)
	one.Ports[0].Queues = 1
	for _, bad := range [][]string{{"target", "0s"}, {"k", "0.5"}, {"scalable", "all"}} {
		t.Run(strings.Join(bad, " "), func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(Scheme(), two.NewSite(), bad...); err == nil {
				t.Errorf("%v is taken", bad)
			}
		})
	}
	if _, err := dataplanetest.BuildProgram(Scheme(), one.NewSite()); err == nil || !strings.Contains(err.Error(),
		"queues: 2") {
		t.Errorf("one queue: %v", err)
	}
}

func ExampleScheme() {
	fmt.Println(Scheme().Name, Scheme().Parameters()[0].Default)
	// Output: dualpi2 15ms
}

// TestProgram_HoldsContract checks the contract of programs. The program chooses queues itself, so scripts with other
// schedulers, and with pauses of classes, do not apply.
func TestProgram_HoldsContract(t *testing.T) {
	disturbed := []string{"classes of delay", "a hard ceiling", "fair queues", "a pause of some"}
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
		p.Queues, p.Scheduler = 2, tm.NewDeadline([]unit.Time{0, 50 * ms})
		return p
	}, disturbed, "target", "100us", "max_rtt", "1ms")
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
		p.Queues, p.Scheduler = 2, tm.NewDWRR([]int32{15, 1}, 1514)
		return p
	}, disturbed, "target", "100us", "max_rtt", "1ms")
}
