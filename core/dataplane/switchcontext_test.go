package dataplane_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/aqm/dualpi2"
	"weir/core/dataplane/aqm/pie"
	"weir/core/dataplane/aqm/red"
	"weir/core/dataplane/fairqueue/ppv"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// aims are all configurations that lead the delay of queues to a target, 5 ms by default or 15 ms.
func aims(t testing.TB) map[string]scheme.Scheme {
	t.Helper()
	all := map[string]scheme.Scheme{}
	for _, s := range []dataplane.Scheme{codel.Scheme(), pie.Scheme(), dualpi2.Scheme(), red.Scheme(), ppv.Scheme()} {
		all[s.Name] = s.Scheme
	}
	for _, s := range tm.Schemes() {
		if s.Name == "fq_codel" || s.Name == "cake" {
			all[s.Name] = s.Scheme
		}
	}
	if len(all) != 7 {
		t.Fatalf("%d schemes", len(all))
	}
	return all
}

// TestTargetsThatDoNotFit checks targets that are too short. A frame of 1514 bytes takes 12.1 ms at 1 Mb/s, and 1.2 ms
// at 10 Mb/s; 24 of them are 5.8 ms at 50 Mb/s. RED begins at half its target, or at 5 packets, which a port of 1 Mb/s
// has after 60 ms. CAKE raises a target that is below a frame.
func TestTargetsThatDoNotFit(t *testing.T) {
	all := aims(t)
	packets := func(n int32) unit.Length { return unit.Length{Packets: n} }
	for _, x := range []struct {
		rate   unit.Rate
		buffer unit.Length
		told   string // who warns
		why    string
	}{
		{50 * unit.Mbps, packets(24), "dualpi2 pie ppv", "holds 5813.76us"},
		{50 * unit.Mbps, packets(240), "", ""},
		{50 * unit.Mbps, packets(20), "cake codel dualpi2 fq_codel pie ppv", ""},
		{50 * unit.Mbps, packets(10), "cake codel dualpi2 fq_codel pie ppv red", ""},
		{50 * unit.Mbps, unit.Length{Bytes: 36336}, "dualpi2 pie ppv", "full after 5813.76us"},
		{50 * unit.Mbps, unit.Length{}, "", ""},
		{500 * unit.Mbps, packets(24), "cake codel dualpi2 fq_codel pie ppv red", ""},
		{5 * unit.Mbps, packets(24), "", ""},
		{unit.Mbps, packets(24), "codel fq_codel red", "takes 12.112ms"},
		{unit.Mbps, packets(4), "codel fq_codel red", ""},
		{100 * unit.Gbps, unit.Length{Bytes: 1_000_000}, "cake codel dualpi2 fq_codel pie ppv red", "80us"},
		{0, packets(24), "", ""},
	} {
		t.Run(fmt.Sprint(x.rate, " ", x.buffer), func(t *testing.T) {
			// A port that is ten times as fast has a buffer for less time, so queues do not form there.
			s := &dataplane.SwitchContext{Framing: packet.Framing{}, MaxFrame: 1514, Ports: []dataplane.Peer{
				{To: "fast", Rate: unit.LinkRate{Bits: 10 * x.rate}, Buffer: x.buffer},
				{To: "slow", Rate: unit.LinkRate{Bits: x.rate}, Buffer: x.buffer}}}
			told, why := []string{}, ""
			for _, name := range []string{"cake", "codel", "dualpi2", "fq_codel", "pie", "ppv", "red"} {
				x := all[name]
				c, err := x.Configure()
				if err != nil {
					t.Fatal(err)
				}
				remarks := withoutMarks(dataplane.Check(c, s))
				if len(remarks) > 0 {
					told = append(told, name)
				}
				for _, r := range remarks {
					if why += r.Text + "\n"; r.Param != "target" || r.Refused || strings.Contains(r.Text, "fast") {
						t.Errorf("%s says %+v", name, r)
					}
				}
			}
			if got := strings.Join(told, " "); got != x.told || !strings.Contains(why, x.why) {
				t.Errorf("%q warn: %s\nwant %q and %q", got, why, x.told, x.why)
			}
		})
	}
}

// withoutMarks removes the warnings of thresholds of marks, which TestMarksBeyondBuffer of softswitch checks.
func withoutMarks(all []scheme.Remark) []scheme.Remark {
	return slices.DeleteFunc(all, func(r scheme.Remark) bool { return r.Kind.ID == "marks-beyond-buffer" })
}

// TestThresholdsThatDoNotFit checks that a threshold in place of a target gives a warning with its own name: a queue of
// 12 packets cannot arise in a buffer of 10.
func TestThresholdsThatDoNotFit(t *testing.T) {
	s := red.Scheme()
	c, err := s.Configure("min", "12 packets", "max", "20 packets")
	if err != nil {
		t.Fatal(err)
	}
	for packets, want := range map[int32]int{10: 1, 12: 1, 13: 0, 0: 0} {
		t.Run(fmt.Sprint(packets), func(t *testing.T) {
			all := withoutMarks(dataplane.Check(c, &dataplane.SwitchContext{MaxFrame: 1514, Ports: []dataplane.Peer{{To: "h",
				Rate: unit.LinkRate{Bits: 50 * unit.Mbps}, Buffer: unit.Length{Packets: packets}}}}))
			if len(all) != want || want > 0 && (all[0].Param != "min" || !strings.Contains(all[0].Text, "to h is full")) {
				t.Errorf("%+v, want %d warnings", all, want)
			}
		})
	}
}
