package codel_test

import (
	"os"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// fair is the setup of two ports with fq_codel.
func fair(t testing.TB, rate unit.Rate, queues int, total tm.Limit, given ...string) dataplanetest.Setup {
	t.Helper()
	s := dataplanetest.NewLinks(2, rate, queues)
	for i := range s.Ports {
		for _, x := range tm.Schemes() {
			if x.Name != "fq_codel" {
				continue
			}
			c, err := x.Configure(given...)
			if err != nil {
				t.Fatal(err)
			}
			if s.Ports[i].Scheduler, err = x.Build(queues, unit.LinkRate{Bits: rate}, c); err != nil {
				t.Fatal(err)
			}
		}
		s.Ports[i].Total = total
	}
	return s
}

// TestFairTranscript compares the program with a transcript made from RFC 8290 §4.1 and §4.2 with RFC 8289 §5: three
// flows that load the link, one of them ECN-capable, a light one that goes first, and a burst that exceeds the limit.
func TestFairTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/fq_codel.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, marked, dropped := dataplanetest.CheckReplay(t, fair(t, 12*unit.Mbps, 1, tm.Limit{Packets: 60}, short...),
		string(text),
		func(*dataplane.Site) []dataplane.Program { return nil })
	if marked < 3 || dropped < 8 {
		t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
	}
}

// FuzzFQCoDel_CountsDropsAndKeepsOrder checks any arrivals, of several flows and classes, at a short buffer. Every
// packet departs or is dropped once, by the law or for room, and packets of a flow keep their order. Hooks see the
// packets that wait.
func FuzzFQCoDel_CountsDropsAndKeepsOrder(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40})
	f.Add([]byte("flows that stay above their target, and one that does not"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := fair(t, 10*unit.Mbps, 2, tm.Limit{Packets: 40}, "target", "1ms", "interval", "3ms")
		s.Programs = []dataplane.Program{&classes{}}
		var script []dataplanetest.Arrival
		at := unit.Time(0)
		for i, x := range b {
			for k := range int(x%16) + 1 {
				at += unit.Time(x>>4) * 40 * unit.Microsecond
				script = append(script, dataplanetest.Arrival{At: at, Dst: 2, Seq: int64(len(script)),
					Payload: int32(22 + (i*97+k*331)%1400), TOS: uint8(i) & 3, Flow: uint16(x>>2) & 7})
			}
		}
		got := dataplanetest.RunSorted(t, s, script)
		gone := got.Drops[dataplane.EarlyDrop] + got.Drops[dataplane.Evicted] + got.Drops[dataplane.PortPacketLimit]
		if len(got.Departures)+int(gone) != len(script) {
			t.Errorf("%d arrive, %d leave, %d are dropped", len(script), len(got.Departures), gone)
		}
		last := map[[2]int64]int64{}
		for _, d := range got.Departures {
			of := [2]int64{int64(script[d.Seq].Flow), d.Seq >> 2 & 1}
			if before, seen := last[of]; seen && before > d.Seq {
				t.Errorf("packet %d of flow %d leaves behind packet %d", d.Seq, of[0], before)
			}
			last[of] = d.Seq
		}
	})
}

// TestFQCoDel_IsolatesLightFlow checks that an unresponsive flow loses its own packets, and a flow next to it none.
// With fq_codel the light flow also does not wait for it (RFC 8290 §6.2: isolation).
func TestFQCoDel_IsolatesLightFlow(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, unit.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			s := fair(t, rate, 1, tm.Limit{Packets: 1000})
			frame := unit.TransmitTime(1500, rate)
			script := dataplanetest.SteadyTraffic(9000, frame*9/10, 1500, 2)
			for i := range 400 {
				script = append(script, dataplanetest.Arrival{At: unit.Time(i)*frame*20 + 7, Dst: 2, Payload: 458, Flow: 1,
					Seq: int64(100000 + i)})
			}
			got := dataplanetest.RunSorted(t, s, script)
			light := 0
			for _, d := range got.Departures {
				if d.Seq >= 100000 {
					light++
					if wait := d.At - unit.Time(d.Seq-100000)*frame*20 - 7; wait > 3*frame {
						t.Fatalf("packet %d of the light flow waits %v, frames take %v", d.Seq, wait, frame)
					}
				}
			}
			if light != 400 || got.Drops[dataplane.EarlyDrop]+got.Drops[dataplane.Evicted] == 0 {
				t.Errorf("%d of 400 packets of the light flow leave; drops %v", light, got.Drops)
			}
		})
	}
}

// TestFairContract checks that ports without a scheduler of their own are fair among flows: no script is disturbed, and
// with a short target floods are balanced. The earliest packet gives way, not the last as in a FIFO.
func TestFairContract(t *testing.T) {
	for _, law := range [][]string{nil, {"target", "100us", "interval", "1ms"}} {
		t.Run(strings.Join(law, " "), func(t *testing.T) {
			dataplanetest.CheckProgram(t, codel.Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
				if p.Scheduler == nil && p.Queues <= 1 {
					p.Scheduler = fair(t, p.Rate.Bits, 1, tm.Limit{}, law...).Ports[0].Scheduler
				}
				return p
			}, []string{"a limit of two packets", "a limit of 300 bytes", "an evicted"})
		})
	}
}
