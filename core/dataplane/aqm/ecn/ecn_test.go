package ecn_test

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// TestCurve_MarkProbabilityIsLinear checks DCQCN §3.1: no marks up to Kmin, a linear probability up to Pmax at Kmax,
// and all packets beyond. With equal thresholds RFC 8257 §3.1: a packet is marked if and only if the queue is longer
// than K.
func TestCurve_MarkProbabilityIsLinear(t *testing.T) {
	for _, x := range []struct {
		c      ecn.Curve
		length unit.Bytes
		want   float64
	}{
		{ecn.Curve{Kmin: 5000, Kmax: 200000, Pmax: 0.01}, 5000, 0}, {ecn.Curve{Kmin: 5000, Kmax: 200000, Pmax: 0.01},
			102500, 0.005},
		{ecn.Curve{Kmin: 5000, Kmax: 200000, Pmax: 0.01}, 200000, 0.01}, {ecn.Curve{Kmin: 5000, Kmax: 200000, Pmax: 0.01},
			200001, 1},
		{ecn.Curve{Kmin: 0, Kmax: 100, Pmax: 1}, 50, 0.5}, {ecn.Curve{Kmin: 0, Kmax: 100, Pmax: 1}, 0, 0},
		{ecn.Curve{Kmin: 30000, Kmax: 30000, Pmax: 1}, 30000, 0}, {ecn.Curve{Kmin: 30000, Kmax: 30000, Pmax: 1}, 30001, 1},
		{ecn.Curve{}, 0, 0}, {ecn.Curve{}, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d to %d B, %d B wait", int64(x.c.Kmin), int64(x.c.Kmax), int64(x.length)), func(t *testing.T) {
			if got := x.c.MarkProbability(x.length); math.Abs(got-x.want) > 1e-12 {
				t.Errorf("%+v at %d: %g, want %g", x.c, x.length, got, x.want)
			}
		})
	}
}

// seer records which packets depart marked. It follows ecn in the list.
type seer struct{ marked map[int64]bool }

func (s *seer) Name() string { return "seer" }
func (s *seer) Egress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	s.marked[p.Seq] = p.TOS&packet.ECN == packet.CE
	return dataplane.Accept
}

// colour gives packets their ECN bits. It precedes ecn.
type colour struct{ bits uint8 }

func (c *colour) Name() string { return "colour" }
func (c *colour) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.TOS |= c.bits
	return dataplane.Accept
}

// marks sends n packets of 1000 bytes at once to port 1 of a rate, and returns which of them depart marked.
func marks(t testing.TB, n int, rate unit.Rate, bits uint8, given ...string) map[int64]bool {
	t.Helper()
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Tbps}},
		{Rate: unit.LinkRate{Bits: rate}}}}
	site := s.NewSite()
	p, err := dataplanetest.BuildProgram(ecn.Scheme(), site, given...)
	if err != nil {
		t.Fatal(err)
	}
	w := &seer{map[int64]bool{}}
	s.Programs = []dataplane.Program{forward.New(site), &colour{bits}, p, w}
	var script []dataplanetest.Arrival
	for i := range n {
		script = append(script, dataplanetest.Arrival{At: unit.Microsecond, Dst: 2, Seq: int64(i), Payload: 1000 - 42})
	}
	dataplanetest.RunDirect(s, script)
	return w.marked
}

// TestMarker_StepMarksAboveThreshold checks a burst of ten: packet 0 is sent at once, packets 1 … 9 find 0 … 8 kB, and
// packet k leaves 9−k in the queue.
func TestMarker_StepMarksAboveThreshold(t *testing.T) {
	step := []string{"kmin", "4 kB", "kmax", "4 kB", "pmax", "100%"}
	for _, bits := range []uint8{packet.NotECT, packet.ECT0, packet.ECT1} {
		t.Run(fmt.Sprint("ECN bits ", bits), func(t *testing.T) {
			out := marks(t, 10, unit.Gbps, bits, step...)
			in := marks(t, 10, unit.Gbps, bits, append(step, "at", "enqueue")...)
			for k := range int64(10) {
				ect := bits != packet.NotECT
				// packet 0 departs before the others arrive
				if want := ect && k > 0 && 9-k > 4; out[k] != want {
					t.Errorf("ECN bits %d: at dequeue, packet %d is marked: %v", bits, k, out[k])
				}
				if want := ect && k-1 > 4; in[k] != want {
					t.Errorf("ECN bits %d: at enqueue, packet %d is marked: %v", bits, k, in[k])
				}
			}
		})
	}
}

// TestThresholds_CountPackets checks that thresholds in packets count packets of any size: of ten, those that leave
// more than two in the queue are marked.
func TestThresholds_CountPackets(t *testing.T) {
	out := marks(t, 10, unit.Gbps, packet.ECT0, "kmin", "2 packets", "kmax", "2 packets", "pmax", "100%")
	for k := int64(1); k < 10; k++ {
		if want := 9-k > 2; out[k] != want {
			t.Errorf("packet %d leaves %d packets behind and is marked: %v", k, 9-k, out[k])
		}
	}
	for name, x := range map[string]ecn.Thresholds{
		"bytes and packets": {Min: unit.Length{Packets: 2}, Max: unit.Length{Bytes: 3000}},
		"out of order":      {Min: unit.Length{Packets: 3}, Max: unit.Length{Packets: 2}},
		"packets, but a map": {Min: unit.Length{Packets: 2}, Max: unit.Length{Packets: 2}, KminMap: rates(1000),
			KmaxMap: rates(1000)},
	} {
		t.Run(name, func(t *testing.T) {
			if scheme.Validate(&ecn.Config{Thresholds: x}) == nil {
				t.Errorf("%+v is valid", x)
			}
		})
	}
}

func rates(length unit.Bytes) []scheme.Pair[unit.Rate, unit.Bytes] {
	return []scheme.Pair[unit.Rate, unit.Bytes]{{Key: unit.Gbps, Value: length}}
}

// TestMarker_KeepsPmaxAtKmax checks that at Kmax itself the share is still Pmax, and at Kmin 0. Pmax is 0 here.
func TestMarker_KeepsPmaxAtKmax(t *testing.T) {
	out := marks(t, 10, unit.Gbps, packet.ECT0, "kmin", "2 kB", "kmax", "4 kB", "pmax", "0%")
	for k := int64(1); k < 10; k++ {
		if want := 9-k > 4; out[k] != want {
			t.Errorf("packet %d leaves %d kB behind and is marked: %v", k, 9-k, out[k])
		}
	}
}

// TestThresholds_FollowPortRate checks thresholds by rate: in proportion (HPCC §5.1: Kmin = 100 KB × rate/25 Gb/s), or
// from the simulator's maps. A rate that a map lacks has the plain thresholds.
func TestThresholds_FollowPortRate(t *testing.T) {
	first := func(rate unit.Rate, given ...string) int {
		m := marks(t, 400, rate, packet.ECT0, append([]string{"pmax", "100%", "at", "enqueue"}, given...)...)
		for k := range 400 {
			if m[int64(k)] {
				return k
			}
		}
		return -1
	}
	maps := []string{"kmin", "10 kB", "kmax", "10 kB", "kmin_map", "100Gbps: 40kB, 400Gbps: 160kB", "kmax_map",
		"100Gbps: 40kB, 400Gbps: 160kB"}
	for _, c := range []struct {
		rate  unit.Rate
		given []string
		want  int
	}{
		{25, []string{"kmin", "10 kB", "kmax", "10 kB"}, 12}, {100, []string{"kmin", "10 kB", "kmax", "10 kB"}, 12},
		{25, []string{"kmin", "10 kB", "kmax", "10 kB", "at_rate", "25Gbps"}, 12},
		{100, []string{"kmin", "10 kB", "kmax", "10 kB", "at_rate", "25Gbps"}, 42},
		{400, []string{"kmin", "10 kB", "kmax", "10 kB", "at_rate", "25Gbps"}, 162},
		{25, maps, 12}, {100, maps, 42}, {400, maps, 162},
	} {
		t.Run(fmt.Sprintf("%d Gb/s, %v", c.rate, c.given), func(t *testing.T) {
			if got := first(c.rate*unit.Gbps, c.given...); got != c.want {
				t.Errorf("%d Gb/s, %v: packet %d is the first that is marked, want %d", c.rate, c.given, got, c.want)
			}
		})
	}
}

// TestMarker_MarksShareOfCurve checks that between the thresholds the share of marks is the curve's.
func TestMarker_MarksShareOfCurve(t *testing.T) {
	n, expected := 0, 0.0
	const packets = 20000
	m := marks(t, packets, unit.Gbps, packet.ECT0, "kmin", "2MB", "kmax", "18MB", "pmax", "40%")
	c := ecn.Curve{Kmin: 2 * unit.MB, Kmax: 18 * unit.MB, Pmax: 0.4}
	for k := 1; k < packets; k++ {
		left := unit.Bytes(packets-1-k) * 1000
		if m[int64(k)] {
			n++
		}
		if p := c.MarkProbability(left); (p == 0 || p == 1) && m[int64(k)] != (p == 1) {
			t.Fatalf("packet %d leaves %d bytes behind and is marked: %v", k, left, m[int64(k)])
		}
		expected += c.MarkProbability(left)
	}
	// at most 16,000 draws: four standard deviations are below 4·√(16000·0.25)
	if math.Abs(float64(n)-expected) > 250 {
		t.Errorf("%d are marked, want %.0f", n, expected)
	}
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}}}}
	for _, bad := range [][]string{{"kmin", "2MB"}, {"kmin_map", "fast: 1 kB"}, {"pmax_map", "1Gbps: 200%"}} {
		t.Run(bad[0], func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(ecn.Scheme(), s.NewSite(), bad...); err == nil {
				t.Errorf("%v is taken", bad)
			}
		})
	}
}

func ExampleCurve() {
	c := ecn.Curve{Kmin: 100 * unit.KB, Kmax: 400 * unit.KB, Pmax: 0.2}
	fmt.Println(c.MarkProbability(100*unit.KB), c.MarkProbability(250*unit.KB), c.MarkProbability(401*unit.KB))
	// Output: 0 0.1 1
}
