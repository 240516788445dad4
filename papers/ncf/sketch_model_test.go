package ncf

import (
	"math/rand/v2"
	"slices"
	"testing"

	"weir/core/unit"
)

// exact is the model of a Sketch: counts by row, column and true window number, which are never cleared, and by flow.
type exact struct {
	s            *Sketch
	cells, lost  map[[3]int64]uint64
	flows        map[[2]uint64]uint64
	totals, loss map[int64]uint64
	now          unit.Time
}

func newExact(s *Sketch) *exact {
	return &exact{s: s, cells: map[[3]int64]uint64{}, lost: map[[3]int64]uint64{}, flows: map[[2]uint64]uint64{},
		totals: map[int64]uint64{}, loss: map[int64]uint64{}}
}

func (e *exact) window() int64 { return int64(e.now / e.s.config.Duration) }

func (e *exact) column(r int, key uint64) int64 {
	return int64(e.s.rows[r].column(key&(1<<32-1), key>>32, uint64(e.s.config.Width)))
}

func (e *exact) count(key, n uint64) {
	w := e.window()
	for r := range e.s.rows {
		at := [3]int64{int64(r), e.column(r, key), w}
		e.cells[at] = min(e.cells[at]+n, uint64(e.s.maxCount))
	}
	e.flows[[2]uint64{key, uint64(w)}] += n
	e.totals[w] += n
}

// lose has the port drop a packet that was counted at the time at.
func (e *exact) lose(at unit.Time, key, n uint64) {
	w := int64(at / e.s.config.Duration)
	for r := range e.s.rows {
		cell := [3]int64{int64(r), e.column(r, key), w}
		e.lost[cell] = min(e.lost[cell]+n, uint64(e.s.maxCount))
	}
	e.loss[w] += n
}

// checkSent compares what the port sent, of the answer c for key, with the model.
func (e *exact) checkSent(t *testing.T, key uint64, c *FlowEstimate) {
	t.Helper()
	sent, lost := e.s.ForwardedTotals(c), uint64(0)
	for j := range e.s.config.Windows {
		lost += e.loss[e.window()-int64(j)]
	}
	if sent == nil || lost == 0 {
		if sent != nil || lost > 0 {
			t.Fatalf("at %v: %d were lost, and the answer is %v", e.now, lost, sent)
		}
		return
	}
	e.s.ForwardedFlow(sent)
	for j := range e.s.config.Windows {
		w := e.window() - int64(j)
		least, total := uint64(e.s.maxCount), e.totals[w]-e.loss[w]
		for r := range e.s.rows {
			cell := [3]int64{int64(r), e.column(r, key), w}
			n := e.cells[cell]
			if n < uint64(e.s.maxCount) {
				n -= min(e.lost[cell], n)
			}
			least = min(least, n)
		}
		if got := uint64(sent.Flow[j]); w >= 0 && (got != least || sent.Total[j] != total) {
			t.Fatalf("at %v, flow %d, window %d: %d of %d sent, want %d of %d", e.now, key, j, got, sent.Total[j], least,
				total)
		}
	}
}

// check compares an answer for key with the model.
func (e *exact) check(t *testing.T, key uint64, c *FlowEstimate) {
	t.Helper()
	for j := range e.s.config.Windows {
		w := e.window() - int64(j)
		least := uint64(e.s.maxCount)
		for r := range e.s.rows {
			least = min(least, e.cells[[3]int64{int64(r), e.column(r, key), w}])
		}
		flow, total := e.flows[[2]uint64{key, uint64(w)}], e.totals[w]
		if w < 0 {
			least, flow, total = 0, 0, 0
		}
		got := uint64(c.Flow[j])
		if got != least || c.Total[j] != total {
			t.Fatalf("at %v, flow %d, window %d: %d of %d, want %d of %d", e.now, key, j, got, c.Total[j], least, total)
		}
		if got < min(flow, uint64(e.s.maxCount)) || got > total {
			t.Fatalf("at %v, flow %d, window %d: %d of %d, exact %d", e.now, key, j, got, total, flow)
		}
	}
	if c.Elapsed != e.now%e.s.config.Duration {
		t.Fatalf("at %v: elapsed %v", e.now, c.Elapsed)
	}
}

// FuzzSketch_MatchesExactModel compares the lazily cleared sketch with one that keeps all windows: never less than the
// arrived bytes unless a counter is full, for all numbers of windows, gaps and counters.
func FuzzSketch_MatchesExactModel(f *testing.F) {
	f.Add(uint8(2), uint8(3), uint8(1), uint8(0), []byte{0, 1, 9, 1, 1, 9, 0, 1, 9, 200, 2, 9, 7, 1, 9})
	f.Add(uint8(0), uint8(0), uint8(0), uint8(24), []byte{0, 1, 255, 0, 2, 255, 0, 3, 255, 31, 1, 0})
	f.Add(uint8(14), uint8(6), uint8(4), uint8(8), []byte{255, 1, 9, 254, 1, 9, 253, 1, 9, 10, 1, 9})
	f.Fuzz(func(t *testing.T, windows, width, depth, fewer uint8, ops []byte) {
		c := SketchConfig{Windows: 1 + int(windows)%MaxWindows, Duration: 8, Width: 1 + int(width),
			Depth: 1 + int(depth)%maxDepth, Bits: 32 - int(fewer)%25, Packets: windows%2 == 0}
		s := NewSketch(c)
		s.window = -uint32(width) // numbers wrap soon
		for i := range s.cells {
			if i%s.quads == s.quads-1 {
				s.cells[i][3] = s.window
			}
		}
		e := newExact(s)
		for ; len(ops) >= 3; ops = ops[3:] {
			switch gap := unit.Time(ops[0]); {
			case gap >= 250:
				e.now += 1 << (gap - 250) * 7919 // over many windows
			default:
				e.now += gap % 32
			}
			key, n := uint64(ops[1])*0x1_0000_0001, uint64(ops[2])*uint64(ops[2])*uint64(ops[2])
			if ops[2]%5 == 0 {
				e.check(t, key, s.Estimate(e.now, key))
				continue
			}
			size := int32(n)
			if c.Packets {
				n = 1
			}
			e.count(key, n)
			e.check(t, key, s.Count(e.now, key, size))
		}
	})
}

// TestLazyClearing runs FuzzSketch_MatchesExactModel's model for long: bursts, idle times, jumps, and losses of packets
// from the last windows or before, at any time.
func TestLazyClearing(t *testing.T) {
	type packet struct {
		at     unit.Time
		key, n uint64
	}
	for _, windows := range []int{1, 2, 3, 4, 5, 7, 8, 12, 15} {
		for _, bits := range []int{32, 12} {
			var waits []packet
			s := NewSketch(SketchConfig{Windows: windows, Duration: unit.Microsecond, Width: 11, Depth: 3, Bits: bits,
				Seed: uint64(windows)})
			e, r := newExact(s), rand.New(rand.NewPCG(1, uint64(windows)))
			for range 4000 {
				switch r.IntN(100) {
				case 0:
					e.now += unit.Time(r.IntN(40)) * unit.Microsecond
				case 1:
					e.now += unit.Time(r.IntN(1 << 40))
				default:
					e.now += unit.Time(r.IntN(200_000))
				}
				key, n := r.Uint64N(50), uint64(r.IntN(1500))
				e.count(key, n)
				e.check(t, key, s.Count(e.now, key, int32(n)))
				waits = append(waits, packet{e.now, key, n})
				for len(waits) > 0 && r.IntN(3) == 0 { // the last one, or one that has waited
					i := len(waits) - 1 - r.IntN(min(len(waits), 20))
					x := waits[i]
					waits = slices.Delete(waits, i, i+1)
					e.lose(x.at, x.key, x.n)
					s.RecordDrop(e.now, x.at, x.key, int32(x.n))
				}
				key = r.Uint64N(50)
				c := s.Estimate(e.now, key)
				e.check(t, key, c)
				e.checkSent(t, key, c)
			}
		}
	}
}

// TestWindowNumbersWrap checks that window numbers of 32 bits wrap without effect, and a gap of a multiple of 2³²
// windows does not bring old counts back.
func TestWindowNumbersWrap(t *testing.T) {
	s := NewSketch(SketchConfig{Windows: 3, Duration: 1, Width: 5, Depth: 2, Bits: 32})
	s.window = 1<<32 - 20
	for i := range s.cells {
		s.cells[i][3] = s.window
	}
	e, r := newExact(s), rand.New(rand.NewPCG(1, 2))
	wrapped := false
	for range 200 {
		e.now += unit.Time(r.IntN(2))
		key := r.Uint64N(9)
		e.count(key, 10)
		before := s.window
		e.check(t, key, s.Count(e.now, key, 10))
		wrapped = wrapped || s.window < before
	}
	if !wrapped {
		t.Error("the numbers did not wrap")
	}
	for _, gap := range []unit.Time{1 << 32, 1<<32 + 1, 1<<32 - 1, 1<<33 - 2, 1 << 62} {
		key := uint64(3)
		e.count(key, 10)
		s.Count(e.now, key, 10)
		e.now += gap
		e.check(t, key, s.Estimate(e.now, key))
	}
}

// TestNoCellGrowsOld checks that each window number touches one more cell, so no cell is older than the number of
// cells, for any traffic: numbers do not repeat within a cell's memory.
func TestNoCellGrowsOld(t *testing.T) {
	s := NewSketch(SketchConfig{Windows: 4, Duration: milli, Width: 13, Depth: 3, Bits: 32})
	for i := range 1000 {
		now := unit.Time(i) * milli
		if i%10 == 9 {
			now += 100 * milli * unit.Time(i)
		}
		s.Count(now, 7, 100)
		for k := 0; k < len(s.cells); k += s.quads {
			if age := s.window - s.cells[k+s.quads-1][3]; age > 13*3 {
				t.Fatalf("window %d: cell %d was touched %d windows ago", i, k, age)
			}
		}
	}
}
