package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/study/measure"
	"weir/study/spec"
)

// line is one curve.
type line struct {
	name    string
	x       []float64
	y, half []float64 // half is nil where there are no intervals
}

// highest is the largest magnitude of a value with its interval.
func (d *drawing) highest() (most float64) {
	for _, l := range d.lines {
		for i, y := range l.y {
			if !math.IsNaN(y) {
				most = max(most, math.Abs(y)+l.interval(i))
			}
		}
	}
	return most
}

// interval is half of a value's interval; 0 if it has none.
func (l *line) interval(i int) float64 {
	if l.half == nil || math.IsNaN(l.half[i]) {
		return 0
	}
	return l.half[i]
}

// shell is a drawing without its lines.
func (d *drawing) shell() drawing {
	out := *d
	out.lines = nil
	return out
}

// bothNotes says how many runs the curves of each world come from.
func (d *drawing) bothNotes(sim *drawing) {
	if d.note == sim.note || d.plain {
		return
	}
	d.note = "; n = " + d.n + " in the lab, " + sim.n + " simulated"
	if max(d.most, sim.most) > 1 {
		d.note = "; mean and 95 % interval, n = " + d.n + " in the lab, " + sim.n + " simulated"
	}
}

// measured reports whether a run has the measure, defined or not.
func measured(name string, points []PointSummary) bool {
	for _, s := range points {
		for _, r := range s.Runs {
			for _, m := range r.Listed() {
				if m.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// drawing is what a plot shows.
type drawing struct {
	lines        []line
	index        map[string]int
	xs           []float64
	words        []string // of an x without numbers, at 0, 1, 2, …
	xName, yName string
	unit, xUnit  string
	n, note      string // note is behind the title: n, and what of it is shown
	most         int    // runs a point
	plain, steps bool   // without markers; as stairs
}

// mostLines is how many curves a plot of series or distributions shows.
const mostLines = 24

// lineOf finds the curve of that name, or begins it.
func (d *drawing) lineOf(name string) *line {
	k, ok := d.index[name]
	if !ok {
		k = len(d.lines)
		d.index[name] = k
		d.lines = append(d.lines, line{name: name})
	}
	return &d.lines[k]
}

// collect makes a plot's curves in the order of the points.
func collect(p spec.Plot, points []PointSummary) drawing {
	d := drawing{index: map[string]int{}, xName: p.X, yName: p.Y}
	if len(points) == 0 {
		return d
	}
	low := math.MaxInt
	texts, varied := map[string]string{}, map[string]bool{} // of each key its first value; those that have others
	for _, s := range points {
		if s.N > 0 { // 0: of another world only
			low, d.most = min(low, s.N), max(d.most, s.N)
		}
		for _, c := range s.Point {
			if first, ok := texts[c.Key]; ok && first != c.Text {
				varied[c.Key] = true
			} else if !ok {
				texts[c.Key] = c.Text
			}
		}
	}
	n := strconv.Itoa(min(low, d.most))
	if d.most > low {
		n = fmt.Sprintf("%d … %d", low, d.most)
	}
	d.n = n
	if d.note = ", n = " + n; d.most > 1 {
		d.note = "; mean and 95 % interval, n = " + n
	}
	// name is a curve's, without the group
	name := func(s *PointSummary) string {
		out := ""
		for _, key := range p.Lines {
			for _, c := range s.Point {
				if c.Key == key {
					out += " " + c.Text
				}
			}
		}
		for _, c := range s.Point {
			if c.Key != p.X && varied[c.Key] && !slices.Contains(p.Lines, c.Key) { // else a curve would go back
				out += " " + c.Key + "=" + c.Text
			}
		}
		return out
	}
	switch p.Kind {
	case spec.OverTime:
		d.overTime(p, points, name)
	case spec.OverSize:
		d.overSize(p, points, name)
	case spec.CDF:
		d.cumulative(p, points, name)
	default:
		d.overSweep(p, points, name)
	}
	if left := len(d.lines) - mostLines; left > 0 && d.plain {
		d.lines = d.lines[:mostLines]
		d.note += fmt.Sprintf("; %d more are not shown", left)
	}
	return d
}

// overSweep has a measure over a sweep key. A measure with several groups that the
// plot does not distinguish is shown by its first group (a queue's mean).
func (d *drawing) overSweep(p spec.Plot, points []PointSummary, name func(*PointSummary) string) {
	byGroup, numbers := slices.Contains(p.Lines, "traffic"), true
	for _, s := range points {
		for _, c := range s.Point {
			numbers = numbers && (c.IsNum || c.Key != p.X)
		}
	}
	place := map[string]int{} // of a word on the x axis
	for i := range points {
		s := &points[i]
		x := 0.0
		for _, c := range s.Point {
			switch {
			case c.Key != p.X:
			case numbers:
				x, d.xUnit = c.Value, unitOf(c.Text)
			default:
				if _, ok := place[c.Text]; !ok {
					place[c.Text] = len(d.words)
					d.words = append(d.words, c.Text)
				}
				x = float64(place[c.Text])
			}
		}
		d.xs = append(d.xs, x)
		first := true
		for _, v := range s.Values {
			if v.Measure != p.Y || !byGroup && !first {
				continue
			}
			first = false
			d.unit = v.Unit
			full := name(s)
			if v.Group != "" {
				full += " " + v.Group
			}
			if full = strings.TrimSpace(full); full == "" {
				full = p.Y
			}
			l := d.lineOf(full)
			l.x, l.y, l.half = append(l.x, x), append(l.y, v.Mean), append(l.half, v.Half)
		}
	}
}

// overTime has a series of each point's first run.
func (d *drawing) overTime(p spec.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.plain, d.xUnit = true, "s"
	seeds := map[uint64]bool{}
	for i := range points {
		s := &points[i]
		if len(s.Runs) == 0 {
			continue
		}
		r := s.Runs[0]
		seeds[r.Seed] = true
		d.note = fmt.Sprintf("; one run, seed %d", r.Seed)
		if s.N > 1 {
			d.note = fmt.Sprintf("; seed %d, n = 1 of %d", r.Seed, s.N)
		}
		for k := range r.Series {
			x := &r.Series[k]
			if x.Name != p.Y {
				continue
			}
			d.unit = x.Unit
			full := strings.TrimSpace(name(s) + " " + x.Group)
			if full == "" {
				full = p.Y
			}
			l := d.lineOf(full)
			for _, v := range thinned(x.Values) {
				t := x.Time(v.at)
				d.xs = append(d.xs, t)
				l.x, l.y = append(l.x, t), append(l.y, v.value)
			}
		}
	}
	if len(seeds) > 1 {
		d.note = "; the first seed of each point"
	}
}

// sampled is one value of a series with its number.
type sampled struct {
	at    int
	value float64
}

// mostShown is how many values of a series a curve shows: beyond that the smallest
// and the largest of every part.
const mostShown = 1200

func thinned(values []measure.Number) (out []sampled) {
	if len(values) <= mostShown {
		for i, v := range values {
			out = append(out, sampled{i, float64(v)})
		}
		return out
	}
	parts := mostShown / 2
	for part := range parts {
		from, to := part*len(values)/parts, (part+1)*len(values)/parts
		low, high := -1, -1
		for i := from; i < to; i++ {
			v := values[i]
			if math.IsNaN(float64(v)) {
				continue
			}
			if low < 0 || v < values[low] {
				low = i
			}
			if high < 0 || v > values[high] {
				high = i
			}
		}
		if low < 0 {
			continue
		}
		for _, i := range []int{min(low, high), max(low, high)} {
			if n := len(out); n == 0 || out[n-1].at != i {
				out = append(out, sampled{i, float64(values[i])})
			}
		}
	}
	return out
}

// overSize has a measure by flow size, at the largest size of each bin.
func (d *drawing) overSize(p spec.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.xUnit = "bytes"
	for _, t := range SizeTables(points) {
		m := t.Measure
		if t.Of != "mean" {
			m += "_" + strings.ReplaceAll(t.Of, ".", "_")
		}
		if m != p.Y {
			continue
		}
		d.unit = t.Unit
		for i := range points {
			l := d.lineOf(strings.TrimSpace(name(&points[i]) + " " + t.Traffic))
			for k, e := range t.Edges {
				d.xs = append(d.xs, float64(e))
				l.x, l.y, l.half = append(l.x, float64(e)), append(l.y, t.Mean[i][k]), append(l.half, t.Half[i][k])
			}
		}
	}
}

// cumulative has the share of all runs' values up to each value.
func (d *drawing) cumulative(p spec.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.plain, d.steps = true, true
	d.yName = "share of values"
	low, high := uint64(math.MaxUint64), uint64(0)
	for i := range points {
		s := &points[i]
		var groups []string
		pooled := map[string]map[float64]uint64{}
		for _, r := range s.Runs {
			for k := range r.Distributions {
				x := &r.Distributions[k]
				if x.Name != p.X || len(x.Values) == 0 {
					continue
				}
				d.xUnit = x.Unit
				if pooled[x.Group] == nil {
					groups = append(groups, x.Group)
					pooled[x.Group] = map[float64]uint64{}
				}
				for j, v := range x.Values {
					pooled[x.Group][v] += x.Counts[j]
				}
			}
		}
		for _, g := range groups {
			values := slices.Sorted(maps.Keys(pooled[g]))
			total := uint64(0)
			for _, v := range values {
				total += pooled[g][v]
			}
			low, high = min(low, total), max(high, total)
			l := d.lineOf(strings.TrimSpace(name(s) + " " + g))
			sum := uint64(0)
			l.x, l.y = append(l.x, values[0]), append(l.y, 0)
			for _, v := range values {
				sum += pooled[g][v]
				l.x, l.y = append(l.x, v), append(l.y, float64(sum)/float64(total))
			}
			d.xs = append(d.xs, values[0], values[len(values)-1])
		}
	}
	if d.note = fmt.Sprintf(", n = %d values", low); low != high {
		d.note = fmt.Sprintf(", n = %d … %d values", low, high)
	}
}

// unitOf says which quantity a sweep value is.
func unitOf(text string) string {
	if text == "" {
		return ""
	}
	switch {
	case strings.HasSuffix(text, "pps"):
		return "packets/s"
	case strings.HasSuffix(text, "bps"):
		return "bps"
	case strings.HasSuffix(text, "packets"), strings.HasSuffix(text, "packet"):
		return "packets"
	case strings.HasSuffix(text, "B"):
		return "bytes"
	case strings.HasSuffix(text, "s") && text[0] >= '0' && text[0] <= '9':
		return "s"
	}
	return ""
}
