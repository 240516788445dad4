package ncf

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/testkit"
)

// countsOf returns counts of windows, the current one last, as in figure 2.
func countsOf(elapsed float64, flow, total []uint64) *FlowEstimate {
	n := len(flow)
	c := &FlowEstimate{Windows: n, Duration: 10 * milli, Elapsed: unit.Time(elapsed * float64(10*milli))}
	for j := range n {
		c.Flow[j], c.Total[j] = uint32(flow[n-1-j]), total[n-1-j]
	}
	return c
}

// TestDetector_MatchesFigure2 checks BS'19 figure 2: right before t1 the counters c2, c1, c0 of three flows are f1 = 0,
// 0, 1, f2 = 10, 5, 1, f3 = 12, 10, 8, in packets; "both these flows [f2 and f3] would be labelled elephants", and f1 a
// mouse. With any window f1 is an elephant, too, since c0 has only ten packets, unless a window must have more to be
// judged.
//
// At t2, according to the text, "f2 has transitioned from being an elephant to being a mice, while f3 has transitioned
// in the opposite manner". The latter contradicts the former: f3 was an elephant at t1, by every form, and does not
// become one. Counters at t2 are in the figure only. By average, f2 is a mouse once 95 packets of others have arrived
// without one of its own: 6 of 15 + 10 + 95. f3 then stays an elephant.
func TestDetector_MatchesFigure2(t *testing.T) {
	s := NewSketch(SketchConfig{Windows: 3, Duration: 10 * milli, Width: 1 << 12, Depth: 5, Bits: 32, Packets: true})
	flows := [][]int{{0, 0, 1}, {10, 5, 1}, {12, 10, 8}}
	for w := range 3 {
		for f, counts := range flows {
			for range counts[w] {
				s.Count(unit.Time(w)*10*milli, uint64(f+1), 1500)
			}
		}
	}
	const t1 = 30 * milli
	for f, counts := range flows {
		c := s.Estimate(t1-1, uint64(f+1))
		for j := range 3 {
			if int(c.Flow[j]) != counts[2-j] || c.Total[j] != []uint64{9 + 1, 15, 22}[j] {
				t.Errorf("f%d, c%d: %d of %d", f+1, j, c.Flow[j], c.Total[j])
			}
		}
	}
	judge := func(when string, now unit.Time, floor uint64, want map[Form][3]bool) {
		t.Helper()
		for form := range FormCount {
			d := Detector{Form: form, Threshold: 0.05, MinWindowTotal: floor}
			var got [3]bool
			for f := range flows {
				got[f] = d.IsElephant(s.Estimate(now, uint64(f+1)))
			}
			if got != want[form] {
				t.Errorf("%s, %v, floor %d: elephants %v, want %v", when, form, floor, got, want[form])
			}
		}
	}
	paper := [3]bool{false, true, true}
	judge("right before t1", t1-1, 0, map[Form][3]bool{Average: paper, MeanOfShares: paper, AllWindows: paper,
		AnyWindow: {true, true, true}})
	judge("right before t1", t1-1, 11, map[Form][3]bool{Average: paper, MeanOfShares: paper, AllWindows: paper,
		AnyWindow: paper})

	// At t1 all moves one to the left: c2 = 0, 5, 10, c1 = 1, 1, 8, and c0 = 0 of 0.
	for f, want := range [][3]uint32{{0, 1, 0}, {0, 1, 5}, {0, 8, 10}} {
		if c := s.Estimate(t1, uint64(f+1)); [3]uint32(c.Flow[:3]) != want || [3]uint64(c.Total[:3]) != [3]uint64{0, 10, 15} {
			t.Errorf("f%d at t1: %v of %v", f+1, c.Flow[:3], c.Total[:3])
		}
	}
	judge("at t1", t1, 0, map[Form][3]bool{Average: paper, MeanOfShares: paper, AllWindows: {false, true, true},
		AnyWindow: {true, true, true}})
	for range 94 {
		s.Count(t1, 3, 1500)
	}
	judge("94 packets later", t1, 0, map[Form][3]bool{Average: paper, MeanOfShares: paper, AllWindows: {false, false,
		true}, AnyWindow: {true, true, true}})
	s.Count(t1, 3, 1500) // 6 of 120 are not more than 5 %
	judge("95 packets later", t1, 0, map[Form][3]bool{Average: {false, false, true}, MeanOfShares: paper,
		AllWindows: {false, false, true}, AnyWindow: {true, true, true}})
	judge("before t2", t1+10*milli-1, 11, map[Form][3]bool{Average: {false, false, true}, MeanOfShares: {false, true,
		true}, AllWindows: {false, false, false}, AnyWindow: {false, true, true}})
}

// TestPartialWindow checks how the current window counts, and windows with little traffic (Detector).
func TestPartialWindow(t *testing.T) {
	const T = 1000
	for _, c := range []struct {
		name    string
		elapsed float64
		flow    []uint64
		total   []uint64
		want    [FormCount]bool // average, mean of shares, any, all
	}{
		{"steady", 0.5, []uint64{60, 60, 60, 30}, []uint64{T, T, T, T / 2}, [FormCount]bool{true, true, true, true}},
		{"exactly the threshold", 0.5, []uint64{50, 50, 50, 25}, []uint64{T, T, T, T / 2}, [FormCount]bool{}},
		{"first packet of a window, of a mouse", 0.001, []uint64{0, 0, 0, 1}, []uint64{T, T, T, 1}, [FormCount]bool{}},
		{"first packet of a window, of an elephant", 0, []uint64{60, 60, 60, 1}, []uint64{T, T, T, 1}, [FormCount]bool{true,
			true,
			true, true}},
		{"a window just begun, without a packet yet", 0, []uint64{60, 60, 60, 0}, []uint64{T, T, T, 0},
			[FormCount]bool{true, true, true, true}},
		{"not in the current window, which has little", 0.1, []uint64{60, 60, 60, 0}, []uint64{T, T, T, 99},
			[FormCount]bool{true, true, true, true}},
		{"not in the current window, which is judged", 0.1, []uint64{60, 60, 60, 0}, []uint64{T, T, T, 100},
			[FormCount]bool{true, true, true, false}},
		{"new in the current window, which is judged", 0.1, []uint64{0, 0, 0, 6}, []uint64{T, T, T, 100},
			[FormCount]bool{false, false, true, false}},
		{"new in the current window, whole", 1, []uint64{0, 0, 0, 240}, []uint64{T, T, T, T}, [FormCount]bool{true, true,
			true, false}},
		{"burst in the oldest window", 0.5, []uint64{190, 0, 0, 0}, []uint64{T, T, T, T / 2}, [FormCount]bool{true, true,
			true, false}},
		{"one window short", 0.5, []uint64{60, 50, 60, 30}, []uint64{T, T, T, T / 2}, [FormCount]bool{true, true, true,
			false}},
		{"much of a quiet window", 0.5, []uint64{0, 90, 0, 0}, []uint64{T, 100, T, T / 2}, [FormCount]bool{false, true,
			true, false}},
		{"all of a window below the floor", 0.5, []uint64{0, 99, 0, 0}, []uint64{T, 99, T, T / 2}, [FormCount]bool{false,
			false,
			false, false}},
		{"alone after idle time", 0.5, []uint64{0, 0, 0, 500}, []uint64{0, 0, 0, 500}, [FormCount]bool{true, true, true,
			false}},
		{"alone for n windows", 0.5, []uint64{T, T, T, 500}, []uint64{T, T, T, 500}, [FormCount]bool{true, true, true, true}},
		{"first packet of all", 0, []uint64{0, 0, 0, 1}, []uint64{0, 0, 0, 1}, [FormCount]bool{true, false, false, false}},
		{"nothing", 0.5, []uint64{0, 0, 0, 0}, []uint64{T, T, T, T}, [FormCount]bool{}},
		{"nothing at all", 0.5, []uint64{0, 0, 0, 0}, []uint64{0, 0, 0, 0}, [FormCount]bool{}},
		{"one window, begun", 0.1, []uint64{99}, []uint64{99}, [FormCount]bool{true, false, false, false}},
		{"one window", 0.1, []uint64{100}, []uint64{100}, [FormCount]bool{true, true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form := range FormCount {
				d := Detector{Form: form, Threshold: 0.05, MinWindowTotal: 100}
				if got := d.IsElephant(countsOf(c.elapsed, c.flow, c.total)); got != c.want[form] {
					t.Errorf("%s, by %v: %v", c.name, form, got)
				}
			}
		})
	}
	// MinTraffic applies to all windows together, and to every form.
	for form := range FormCount {
		for _, least := range []uint64{209, 210, 211} {
			d := Detector{Form: form, Threshold: 0.05, MinTraffic: least}
			if got := d.IsElephant(countsOf(0.5, []uint64{60, 60, 60, 30}, []uint64{T, T, T, T / 2})); got != (least <= 210) {
				t.Errorf("by %v, least %d: %v", form, least, got)
			}
		}
	}
	// No flow has more than the whole traffic.
	for form := range FormCount {
		d := Detector{Form: form, Threshold: 1}
		if d.IsElephant(countsOf(0.5, []uint64{T, T, T, T / 2}, []uint64{T, T, T, T / 2})) {
			t.Errorf("by %v, threshold 1: an elephant", form)
		}
	}
}

// detection returns when a new flow with a constant share x of a constant load becomes an elephant, after its first
// packet. Windows have the length d, and the flow begins at phase φ of a window. floor is the minimum total that is
// judged, also in windows of the load.
//
// With average, and mean of shares, which is the same under constant load, once
// x·t > θ·((n − 1)·d + e), with e what has elapsed of the current window; in window k after the
// first t = (k − φ)·d + e. So θ·(n − 1)/x ≤ t/d < θ·n/x: from n − 1 to n windows times the
// ratio of threshold and share.
//
// With any window, once x·t > θ·e in the first, where e = φ·d + t; else after floor in the second.
// So t ≤ d·(1 − φ) + floor, and a flow with much more than the threshold is seen after floor.
//
// With all windows, when the first in which it exceeds the threshold is the oldest: (n − 1 − φ)·d
// if that is the one in which it begins, x·(1 − φ) > θ; else (n − φ)·d.
func detection(form Form, n int, x, threshold, phase, floor float64) float64 {
	switch form {
	case AnyWindow:
		if e := max(x*phase/(x-threshold), floor, phase); e < 1 {
			return e - phase
		}
		return 1 - phase + floor
	case AllWindows:
		if x*(1-phase) > threshold {
			return float64(n-1) - phase
		}
		return float64(n) - phase
	}
	for k := 0.0; ; k++ {
		begin := 0.0
		if k == 0 {
			begin = phase
		}
		e := max(begin, (threshold*float64(n-1)-x*(k-phase))/(x-threshold))
		if e < 1 {
			return k - phase + e
		}
	}
}

// TestDetectionTime checks how long a new elephant is a mouse: the formula, and the needs of the sketch and F with
// packets of 200 bytes at 1 Gb/s, n = 4, d = 10 milli, θ = 5 %, floor 20 kB, least 0.
func TestDetectionTime(t *testing.T) {
	const n, threshold, frame, d, phases = 4, 0.05, 200, 10 * milli, 6
	const gap = 1600 * unit.Nanosecond
	floor := float64(20_000/frame*gap) / float64(d)
	var table strings.Builder
	fmt.Fprintf(&table, "windows from the first packet on: least, mean, most over the phase in which it comes\n%6s",
		"share")
	for form := range FormCount {
		fmt.Fprintf(&table, " | %-28s", form)
	}
	table.WriteString("\n")
	for _, x := range []float64{0.06, 0.08, 0.10, 0.20, 0.50, 1.00} {
		fmt.Fprintf(&table, "%5.0f%%", 100*x)
		for form := range FormCount {
			detector := Detector{Form: form, Threshold: threshold, MinWindowTotal: 20_000}
			least, most, sum := math.Inf(1), 0.0, 0.0
			for i := range phases {
				phase := (float64(i) + 0.45) / phases
				s := NewSketch(SketchConfig{Windows: n, Duration: d, Width: 1 << 11, Depth: 2, Bits: 32, Seed: 1})
				start := n*d + unit.Time(phase*float64(d))
				sent, own, got := 0, 0, -1.0
				for now := unit.Time(0); now < start+(n+1)*d; now += gap {
					if now >= start {
						if sent++; float64(own) < x*float64(sent) {
							own++
							if detector.IsElephant(s.Count(now, 1<<40, frame)) {
								got = float64(now-start) / float64(d)
								break
							}
							continue
						}
					}
					s.Count(now, uint64(now/gap)%1000, frame)
				}
				want := detection(form, n, x, threshold, phase, floor)
				if tolerance := 0.02 + 0.03*want; got < 0 || math.Abs(got-want) > tolerance {
					t.Errorf("share %g, %v, phase %.2f: after %.3f windows, want %.3f", x, form, phase, got, want)
				}
				if form == Average && (got < threshold*(n-1)/x-0.02 || got > threshold*n/x+0.02) {
					t.Errorf("share %g, phase %.2f: after %.3f windows, not in %.3f … %.3f", x, phase, got, threshold*(n-1)/x,
						threshold*n/x)
				}
				least, most, sum = min(least, got), max(most, got), sum+got
			}
			fmt.Fprintf(&table, " | %8.2f  %8.2f  %8.2f", least, sum/phases, most)
		}
		table.WriteString("\n")
	}
	testkit.Golden(t, "detection.txt", table.String())
}

// TestElephantsEnd checks that a flow that stops is no elephant n windows later, by any form. The latest forms are
// average and any window.
func TestElephantsEnd(t *testing.T) {
	for form := range FormCount {
		s := NewSketch(SketchConfig{Windows: 4, Duration: 10 * milli, Width: 1 << 12, Depth: 3, Bits: 32})
		d := Detector{Form: form, Threshold: 0.05, MinWindowTotal: 20_000}
		end := -1
		for i := range 2000 { // 100 packets a window
			now := unit.Time(i) * 100 * unit.Microsecond
			key := uint64(i%300) + 1
			if i < 1000 && i%2 == 0 {
				key = 0
			}
			s.Count(now, key, 1000)
			switch elephant := d.IsElephant(s.Estimate(now, 0)); {
			case i == 999 && !elephant:
				t.Errorf("%v: half of the traffic is no elephant's", form)
			case i >= 1000 && !elephant && end < 0:
				end = i
			case end >= 0 && elephant:
				t.Errorf("%v: an elephant again at packet %d", form, i)
			}
		}
		if most := 1400; end < 0 || end > most {
			t.Errorf("%v: an elephant until packet %d", form, end)
		}
	}
}
