package ncf

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"weir/unit"
)

// MaxWindows is the most windows that a sketch can have: the counts of one cell and the
// number of the window that they are of are then one line of 64 bytes.
const MaxWindows = 15

// SketchConfig says what a Sketch is made of.
type SketchConfig struct {
	Windows  int       // n, 1 … MaxWindows
	Duration unit.Time // d of one window, above 0
	Width    int       // w, counters a row, 1 … 2²⁴
	Depth    int       // rows, 1 … 16
	Packets  bool      // it counts packets; else bytes
	Bits     int       // of a counter, 8 … 32, which stays at its largest value
	Seed     uint64    // of the rows' hashes, unknown to who sends traffic
}

// Dimensions gives the width and depth of a count-min sketch (Cormode, Muthukrishnan,
// J. Algorithms 55(1), 2005, §3) whose answers are too large by more than epsilon times the
// window's total with probability delta at most: w = ⌈e/ε⌉, depth = ⌈ln(1/δ)⌉. Both lie
// between 0 and 1, not included.
func Dimensions(epsilon, delta float64) (width, depth int, err error) {
	if !(epsilon > 0 && epsilon < 1 && delta > 0 && delta < 1) {
		return 0, 0, fmt.Errorf("a sketch with epsilon %g and delta %g; both must be above 0 and below 1", epsilon, delta)
	}
	w, d := math.Ceil(math.E/epsilon), math.Ceil(math.Log(1/delta))
	if w > 1<<24 || d > 16 {
		return 0, 0, fmt.Errorf("a sketch with epsilon %g and delta %g has %g counters in each of %g rows; at most %d in 16 are possible", epsilon, delta, w, d, 1<<24)
	}
	return int(w), int(d), nil
}

// Sketch is a rolling sketch (BS'19 §4.1): for each of the last n windows of duration d a
// count-min sketch of the flows' packets or bytes, and the window's total. Window j holds
// what came in [(⌊t/d⌋ − j)·d, (⌊t/d⌋ − j + 1)·d); window 0 is the current one, and partial.
//
// It rolls by pointer: window W lies at W mod n, and nothing is moved. It is cleared lazily:
// the counts of a cell for all windows stand side by side, with the number of the window
// in which the cell was touched last, and whoever touches it sets to 0 what is older than
// that. The work for a packet is depth · n at most, whatever has happened before.
//
// Window numbers are kept modulo 2³²: a cell that nothing touches for 2³² windows, to
// within n, would show what it held then.
type Sketch struct {
	cells  []uint32 // by row, column: stamp, then a count a window; stride a cell
	row    []hash
	stride int
	config SketchConfig
	most   uint32 // of a counter

	window uint32    // number of the current one
	start  unit.Time // when it began
	slot   int       // where it lies
	totals []uint64  // by slot
	counts Counts
}

// hash is a row's: the upper 32 bits of a·key + b, 2-universal (Dietzfelbinger et al.,
// J. Algorithms 25(1), 1997).
type hash struct{ a, b uint64 }

// Counts is what a sketch knows of one flow: by window, 0 being the current one.
type Counts struct {
	Flow    [MaxWindows]uint32 // never below what was counted, but for saturation
	Total   [MaxWindows]uint64 // of all flows, exact
	Windows int
	Elapsed unit.Time // how long the current window has lasted
}

// Sum is the flow's and the total count of all windows.
func (c *Counts) Sum() (flow, total uint64) {
	for j := range c.Windows {
		flow += uint64(c.Flow[j])
		total += c.Total[j]
	}
	return flow, total
}

// NewSketch returns an empty sketch that begins at time 0.
func NewSketch(c SketchConfig) (*Sketch, error) {
	switch {
	case c.Windows < 1 || c.Windows > MaxWindows:
		return nil, fmt.Errorf("a sketch of %d windows; 1 … %d are possible", c.Windows, MaxWindows)
	case c.Duration <= 0:
		return nil, fmt.Errorf("a sketch with windows of %v; they must be longer than 0", c.Duration)
	case c.Width < 1 || c.Width > 1<<24 || c.Depth < 1 || c.Depth > 16:
		return nil, fmt.Errorf("a sketch with %d counters in each of %d rows; 1 … %d in 1 … 16 are possible", c.Width, c.Depth, 1<<24)
	case c.Bits < 8 || c.Bits > 32:
		return nil, fmt.Errorf("a sketch with counters of %d bits; 8 … 32 are possible", c.Bits)
	}
	s := &Sketch{config: c, stride: 1 << bits.Len(uint(c.Windows)), row: make([]hash, c.Depth), most: 1<<c.Bits - 1, totals: make([]uint64, c.Windows)}
	if c.Width*c.Depth > 1<<28/s.stride {
		return nil, fmt.Errorf("a sketch with %d counters in each of %d rows for %d windows; at most 1 GiB is possible", c.Width, c.Depth, c.Windows)
	}
	s.cells = make([]uint32, c.Width*c.Depth*s.stride)
	random := rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15))
	for i := range s.row {
		s.row[i] = hash{random.Uint64() | 1, random.Uint64()}
	}
	s.counts.Windows = c.Windows
	return s, nil
}

// Bytes is the memory of the counters, which does not depend on the number of flows.
func (s *Sketch) Bytes() int { return 4*len(s.cells) + 8*len(s.totals) }

// Windows and Duration are n and d.
func (s *Sketch) Windows() int        { return s.config.Windows }
func (s *Sketch) Duration() unit.Time { return s.config.Duration }

// Window is the number of the current window, modulo 2³².
func (s *Sketch) Window() uint32 { return s.window }

// roll goes on to the window of now, which is not before that of the last call.
func (s *Sketch) roll(now unit.Time) {
	if now-s.start < s.config.Duration {
		return
	}
	n := (now - s.start) / s.config.Duration
	s.start += n * s.config.Duration
	s.window += uint32(n)
	for range min(n, unit.Time(len(s.totals))) { // those of windows that are over, and of this one
		if s.slot++; s.slot == len(s.totals) {
			s.slot = 0
		}
		s.totals[s.slot] = 0
	}
}

// refresh sets to 0 what of a cell is older than n windows, or of windows in which
// nothing touched it.
func (s *Sketch) refresh(cell []uint32) {
	n := s.config.Windows
	behind := min(s.window-cell[0], uint32(n))
	cell[0] = s.window
	for i := s.slot; behind > 0; behind-- {
		cell[1+i] = 0
		if i--; i < 0 {
			i = n - 1
		}
	}
}

// Count counts a packet of a flow that has come now and returns what the sketch then knows
// of the flow. now does not go back. The result is the sketch's, until the next call.
func (s *Sketch) Count(now unit.Time, key uint64, bytes int32) *Counts {
	s.roll(now)
	n := uint32(bytes)
	if s.config.Packets {
		n = 1
	}
	s.totals[s.slot] += uint64(n)
	return s.walk(now, key, n)
}

// Query returns what the sketch knows of a flow now.
func (s *Sketch) Query(now unit.Time, key uint64) *Counts {
	s.roll(now)
	return s.walk(now, key, 0)
}

// walk adds n to the flow's counters of the current window and takes the least of each
// window over the rows.
func (s *Sketch) walk(now unit.Time, key uint64, n uint32) *Counts {
	c, windows, stride := &s.counts, s.config.Windows, s.stride
	width, base := uint64(s.config.Width), 0
	var least [MaxWindows]uint32 // by slot
	for r := range s.row {
		h := &s.row[r]
		column := (h.a*key + h.b) >> 32 * width >> 32
		at := base + int(column)*stride
		cell := s.cells[at : at+stride : at+stride]
		if cell[0] != s.window {
			s.refresh(cell)
		}
		x := &cell[1+s.slot]
		if room := s.most - *x; n < room {
			*x += n
		} else {
			*x = s.most
		}
		counts := cell[1 : 1+windows]
		if r == 0 {
			copy(least[:], counts)
		} else {
			for i, v := range counts {
				if v < least[i] {
					least[i] = v
				}
			}
		}
		base += int(width) * stride
	}
	i := s.slot
	for j := range windows {
		c.Flow[j], c.Total[j] = least[i], s.totals[i]
		if i--; i < 0 {
			i = windows - 1
		}
	}
	c.Elapsed = now - s.start
	return c
}
