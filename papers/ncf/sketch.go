package ncf

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"weir/core/packet"
	"weir/core/unit"
)

// MaxWindows is the maximum number of windows of a sketch: a cell's counts and the number of its window then fill one
// cache line of 64 bytes.
const MaxWindows = 15

// Limits of a sketch.
const (
	maxWidth = 1 << 24
	maxDepth = 16
	maxQuads = 1 << 26 // 1 GiB
)

// SketchConfig describes a Sketch.
type SketchConfig struct {
	Windows  int       // n, 1 … MaxWindows
	Duration unit.Time // d of one window, above 0
	Width    int       // w, counters a row, 1 … 2²⁴
	Depth    int       // rows, 1 … 16
	Packets  bool      // counts packets instead of bytes
	Bits     int       // of a counter, 8 … 32, which saturates at 2^Bits − 1
	Seed     uint64    // of the hashes; senders do not know it
}

// Dimensions returns the width and depth of a count-min sketch (Cormode, Muthukrishnan, J. Algorithms 55(1), 2005, §3).
// Its estimates exceed the true count by more than epsilon times the window's total with a probability of at most
// delta: w = ⌈e/ε⌉, depth = ⌈ln(1/δ)⌉. Both arguments are between 0 and 1, exclusive.
func Dimensions(epsilon, delta float64) (width, depth int) {
	w, d := dimensions(epsilon, delta)
	return int(w), int(d)
}

// dimensions is Dimensions in float64, for values beyond int.
func dimensions(epsilon, delta float64) (width, depth float64) {
	return math.Ceil(math.E / epsilon), math.Ceil(math.Log(1 / delta))
}

// quads returns the number of quads in a cell with this number of windows.
func quads(windows int) int { return 1 << bits.Len(uint(windows)/4) }

// Sketch is a rolling sketch (BS'19 §4.1): for each of the last n windows of duration d, a count-min sketch of the
// flows' packets or bytes, and the window's total. Window j covers arrivals in [(⌊t/d⌋ − j)·d, (⌊t/d⌋ − j + 1)·d);
// window 0 is the current one, and partial.
//
// Rolling moves a pointer, not data: windows lie in n slots, and a new window takes the slot of the oldest. Clearing is
// lazy: a cell's counts for all windows are adjacent, with the number of the window of the cell's last access, and the
// next access clears counts older than n windows. A packet accesses at most depth cells of n counts; the first packet
// of a window n more cells.
//
// Windows are numbered modulo 2³². A number cannot recur while a cell still has it: a gap of n windows or more counts
// as n, and each new window also accesses one further cell in turn; there are at most 2²⁶.
type Sketch struct {
	cells     []quad // by row, column: one count per slot, and the stamp at the end
	lost      []quad // likewise: the part that the port dropped
	quads     int    // per cell, a power of two: cells do not straddle cache lines
	window    uint32 // number of the current window
	maxCount  uint32 // largest value of a counter
	slot      int    // slot of the current window
	rows      []hash
	flowCells [maxDepth]int          // of the flow's cells
	minima    [4]quad                // of the rows, by slot
	totals    [MaxWindows + 1]uint64 // by slot
	losses    [MaxWindows + 1]uint64 // likewise: the part that the port dropped
	loss      uint64                 // sum of losses
	latest    [16]uint32             // by slot: cells of the first row with their last count in its window
	start     unit.Time              // start of the current window
	sweep     int                    // cell that the next window refreshes
	counts    FlowEstimate
	forwarded FlowEstimate
	keySeeds  [10]uint64 // of Key
	config    SketchConfig
}

// hash is the hash function of a row: ((a + lower)·(b + upper) + c) >> 32 of the key's two halves. It is strongly
// universal with a, b, c drawn at random (pair-multiply-shift: Thorup, High Speed Hashing for Integers and Strings,
// 2015, §3.5). Two keys collide in a row of w columns with a probability of at most 1/w + 2⁻³².
type hash struct {
	a, b, c uint64
	base    int // index of the row's first quad
}

// column returns the key's column in a row of this width.
func (h *hash) column(lower, upper, width uint64) int {
	return int(((h.a+lower)*(h.b+upper) + h.c) >> 32 * width >> 32)
}

// quad is four words of a cell.
type quad [4]uint32

// FlowEstimate is a sketch's estimate for one flow, by window; 0 is the current one.
type FlowEstimate struct {
	Flow     [MaxWindows]uint32 // never below the true count, except by saturation
	Total    [MaxWindows]uint64 // of all flows, exact
	Windows  int
	Duration unit.Time // of a window
	Elapsed  unit.Time // of the current window, 0 … Duration
}

// Sum returns the counts of all windows, of the flow and in total.
func (c *FlowEstimate) Sum() (flow, total uint64) {
	for j := range c.Windows {
		flow += uint64(c.Flow[j])
		total += c.Total[j]
	}
	return flow, total
}

// NewSketch returns an empty sketch that begins at time 0. The configuration is one that Options allow.
func NewSketch(c SketchConfig) *Sketch {
	s := &Sketch{config: c, quads: quads(c.Windows), rows: make([]hash, c.Depth), maxCount: 1<<c.Bits - 1}
	s.cells = make([]quad, c.Width*c.Depth*s.quads)
	s.lost = make([]quad, len(s.cells))
	random := rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15))
	for i := range s.rows {
		s.rows[i] = hash{random.Uint64(), random.Uint64(), random.Uint64(), i * c.Width * s.quads}
	}
	for i := range s.keySeeds {
		s.keySeeds[i] = random.Uint64()
	}
	s.counts.Windows, s.counts.Duration = c.Windows, c.Duration
	s.forwarded.Windows, s.forwarded.Duration = c.Windows, c.Duration
	return s
}

// Key identifies a flow by its 5-tuple. It depends on the sketch's seed; sketches with the same seed have the same
// keys. Without the seed, two flows with one key can be found only by chance, 2⁻⁶⁴. packet.FlowHash, by contrast, is
// public and has 32 bits.
func (s *Sketch) Key(p *packet.Packet) uint64 {
	n := &s.keySeeds
	src, dst, ports, proto := uint64(p.Src), uint64(p.Dst), uint64(p.SrcPort)<<16|uint64(p.DstPort), uint64(p.Proto)
	upper := (n[0]+src)*(n[1]+dst) + (n[2]+ports)*(n[3]+proto) + n[4]
	lower := (n[5]+src)*(n[6]+dst) + (n[7]+ports)*(n[8]+proto) + n[9]
	return upper>>32<<32 | lower>>32
}

// reverseKey returns the key that packets of the opposite direction of p's flow have.
func (s *Sketch) reverseKey(p *packet.Packet) uint64 {
	n := &s.keySeeds
	src, dst, ports, proto := uint64(p.Dst), uint64(p.Src), uint64(p.DstPort)<<16|uint64(p.SrcPort), uint64(p.Proto)
	upper := (n[0]+src)*(n[1]+dst) + (n[2]+ports)*(n[3]+proto) + n[4]
	lower := (n[5]+src)*(n[6]+dst) + (n[7]+ports)*(n[8]+proto) + n[9]
	return upper>>32<<32 | lower>>32
}

// isLive reports whether any packet was counted within the last n windows.
func (s *Sketch) isLive(now unit.Time) bool {
	return now-s.start < unit.Time(s.config.Windows)*s.config.Duration
}

// Bytes returns the memory of the counters, which does not depend on the number of flows.
func (s *Sketch) Bytes() int { return 2 * (16*len(s.cells) + 8*s.config.Windows) }

// EstimateFlows estimates the number of flows in the last n windows, up to the last call of Count or Estimate, by
// linear counting (Whang, Vander-Zanden, Taylor, TODS 15(2), 1990): if z of a row's w cells are 0 in all windows,
// w·ln(w/z) flows were counted. It uses the union of the windows, since most of many flows that share a port send less
// than once in a window. The estimate is at most w·ln w, with no cell at 0.
func (s *Sketch) EstimateFlows() float64 {
	union := uint32(0)
	for _, n := range s.latest[:s.config.Windows] {
		union += n
	}
	w := float64(s.config.Width)
	return w * math.Log(w/max(w-float64(union), 1))
}

// moveToWindow counts cell i of the first row, at its first count in this window, for this window instead of the last
// one. Each cell counts once, and expires with its window. It checks at most n counts, once per cell and window.
//
//go:noinline
func (s *Sketch) moveToWindow(i int) {
	s.latest[s.slot]++
	for slot := s.slot - 1; ; slot-- {
		if slot < 0 {
			slot = s.config.Windows - 1
		}
		if slot == s.slot {
			return
		}
		if s.cells[i+slot/4][slot%4] > 0 {
			s.latest[slot]--
			return
		}
	}
}

// Windows returns n, the number of windows that the sketch stores.
func (s *Sketch) Windows() int { return s.config.Windows }

// Duration returns d, the length of a window.
func (s *Sketch) Duration() unit.Time { return s.config.Duration }

// Window returns the number of the current window, modulo 2³². It grows by one per window, and by n after n or more
// windows without a packet.
func (s *Sketch) Window() uint32 { return s.window }

// roll advances to the window of now, which is not before the last call's.
func (s *Sketch) roll(now unit.Time) {
	passed := (now - s.start) / s.config.Duration
	s.start += passed * s.config.Duration
	for range min(passed, unit.Time(s.config.Windows)) { // slots of past windows and of this one
		s.window++
		if s.slot++; s.slot == s.config.Windows {
			s.slot = 0
		}
		s.loss -= s.losses[s.slot]
		s.totals[s.slot], s.losses[s.slot], s.latest[s.slot] = 0, 0, 0
		s.refresh(s.cells[s.sweep:][:s.quads])
		s.refresh(s.lost[s.sweep:][:s.quads])
		if s.sweep += s.quads; s.sweep == len(s.cells) {
			s.sweep = 0
		}
	}
}

// refresh clears the counts of a cell that are older than n windows, or of windows in which it was not accessed, and
// sets the cell's stamp to the current window.
//
//go:noinline
func (s *Sketch) refresh(cell []quad) {
	stamp := &cell[len(cell)-1][3]
	behind := min(s.window-*stamp, uint32(s.config.Windows))
	*stamp = s.window
	for slot := s.slot; behind > 0; behind-- {
		cell[slot/4][slot%4] = 0
		if slot--; slot < 0 {
			slot = s.config.Windows - 1
		}
	}
}

// Count counts a packet of a flow with size bytes that arrives at now and returns the estimate for the flow. A time
// before the last call's counts in the current window. The result is valid until the next call of Count or Estimate.
func (s *Sketch) Count(now unit.Time, key uint64, bytes int32) *FlowEstimate {
	if now-s.start >= s.config.Duration {
		s.roll(now)
	}
	n := uint32(max(bytes, 0))
	if s.config.Packets {
		n = 1
	}
	s.totals[s.slot] += uint64(n)
	return s.addAndEstimate(now, key, n)
}

// Estimate returns the estimate for a flow at now, and counts no packet. The result is valid until the next call of
// Count or Estimate.
func (s *Sketch) Estimate(now unit.Time, key uint64) *FlowEstimate {
	if now-s.start >= s.config.Duration {
		s.roll(now)
	}
	return s.addAndEstimate(now, key, 0)
}

// addAndEstimate adds n to the flow's counters of the current window and takes each window's minimum over the rows,
// four windows at a time, which the compiler keeps in registers. The window must be the one of now (roll), and the
// total have n already.
func (s *Sketch) addAndEstimate(now unit.Time, key uint64, n uint32) *FlowEstimate {
	cells, places := s.cells, s.flowCells[:len(s.rows)]
	lower, upper, width := key&(1<<32-1), key>>32, uint64(s.config.Width)
	four, one, last := s.slot>>2, s.slot&3, s.quads-1
	for r := range places {
		h := &s.rows[r]
		i := h.base + h.column(lower, upper, width)*s.quads
		places[r] = i
		if cells[i+last][3] != s.window {
			s.refresh(cells[i:][:s.quads])
		}
		x := &cells[i+four][one]
		if r == 0 && *x == 0 && n > 0 {
			s.moveToWindow(i)
		}
		*x += min(n, s.maxCount-*x)
	}
	for b := range (s.config.Windows + 3) / 4 {
		var w, x, y, z uint32 = 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1
		for _, i := range places {
			q := &cells[i+b]
			w, x, y, z = min(w, q[0]), min(x, q[1]), min(y, q[2]), min(z, q[3])
		}
		l := &s.minima[b&3]
		l[0], l[1], l[2], l[3] = w, x, y, z
	}
	c, i, windows := &s.counts, uint(s.slot), s.config.Windows
	for j := range c.Flow[:windows] {
		c.Flow[j], c.Total[j] = s.minima[i/4&3][i%4], s.totals[i%16]
		if i--; int(i) < 0 {
			i = uint(windows - 1)
		}
	}
	c.Elapsed = max(now-s.start, 0)
	return c
}

// RecordDrop records that the port dropped, at now, a packet of the given bytes that was counted at the time counted.
// It skips expired windows.
func (s *Sketch) RecordDrop(now, counted unit.Time, key uint64, bytes int32) {
	if now-s.start >= s.config.Duration {
		s.roll(now)
	}
	back := unit.Time(0)
	if counted < s.start {
		back = (s.start - counted + s.config.Duration - 1) / s.config.Duration
	}
	if back >= unit.Time(s.config.Windows) {
		return
	}
	n, slot := uint32(max(bytes, 0)), s.slot-int(back)
	if s.config.Packets {
		n = 1
	}
	if slot < 0 {
		slot += s.config.Windows
	}
	s.losses[slot] += uint64(n)
	s.loss += uint64(n)
	lower, upper, width := key&(1<<32-1), key>>32, uint64(s.config.Width)
	for r := range s.rows {
		h := &s.rows[r]
		cell := s.lost[h.base+h.column(lower, upper, width)*s.quads:][:s.quads]
		if cell[s.quads-1][3] != s.window {
			s.refresh(cell)
		}
		x := &cell[slot/4][slot%4]
		*x += min(n, s.maxCount-*x)
	}
}

// ForwardedTotals returns a copy of c, the result of the last call of Count or Estimate, with totals less the port's
// drops. It returns nil if the port dropped no packet in these windows. The result is valid until the next call.
func (s *Sketch) ForwardedTotals(c *FlowEstimate) *FlowEstimate {
	if s.loss == 0 {
		return nil
	}
	x, slot := s.copyEstimate(c), s.slot
	for j := range x.Windows {
		x.Total[j] -= min(s.losses[slot], x.Total[j])
		if slot--; slot < 0 {
			slot = s.config.Windows - 1
		}
	}
	return x
}

// copyEstimate returns a copy of c, valid until the next call of it or of ForwardedTotals.
func (s *Sketch) copyEstimate(c *FlowEstimate) *FlowEstimate {
	copy(s.forwarded.Flow[:c.Windows], c.Flow[:c.Windows])
	copy(s.forwarded.Total[:c.Windows], c.Total[:c.Windows])
	s.forwarded.Elapsed = c.Elapsed
	return &s.forwarded
}

// ForwardedFlow lowers sent.Flow, in the result of ForwardedTotals, to the flow's traffic without the port's drops. The
// flow is the one of the last call of Count or Estimate. In each cell this is the difference of two exact sums. So the
// estimate is as exact as a count-min sketch of forwarded traffic: its error is relative to that, not to arrivals.
func (s *Sketch) ForwardedFlow(sent *FlowEstimate) {
	for j := range sent.Windows {
		slot := s.slot - j
		if slot < 0 {
			slot += s.config.Windows
		}
		for _, i := range s.flowCells[:len(s.rows)] {
			n, lost := s.cells[i+slot/4][slot%4], s.lost[i:][:s.quads]
			if s.window-lost[s.quads-1][3] <= uint32(j) && n < s.maxCount { // otherwise the count is an older window's
				n -= min(n, lost[slot/4][slot%4])
			}
			sent.Flow[j] = min(sent.Flow[j], n)
		}
	}
}
