package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/study/claim"
	"weir/study/experiment/plots"
	"weir/study/figure"
	"weir/study/measure"
)

// byGroup stands for the groups of a measure where keys of the sweep stand.
const byGroup = "traffic"

// line is one curve.
type line struct {
	panel, name string
	x           []float64
	y, half     []float64 // half is nil where there are no intervals
	boxes       []figure.Box
}

// highest is the largest magnitude of a value with its interval.
func (d *drawing) highest() (most float64) {
	for _, l := range d.lines {
		for i, y := range l.y {
			if !math.IsNaN(y) {
				most = max(most, math.Abs(y)+l.interval(i))
			}
		}
		for _, b := range l.boxes {
			most = max(most, b.High)
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
	d.note = d.runs + " in the lab, " + sim.runs + " in the simulator"
	if max(d.most, sim.most) > 1 {
		d.note = meanNote + d.note
	}
}

// meanNote begins the note of a plot with intervals; the number of runs follows.
const meanNote = "mean and 95 % interval of "

// oneRun is the note of a plot that shows a single run of several.
func oneRun(seed uint64, runs int) string {
	if runs > 1 {
		return fmt.Sprintf("seed %d, one of %d runs", seed, runs)
	}
	return fmt.Sprintf("one run, seed %d", seed)
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
	runs, note   string // note is below the title: the number of runs, and what of them is shown
	most         int    // runs a point
	plain, steps bool   // without markers; as stairs
	each         bool   // a panel for every curve
}

// count is how many names of curves, and how many panels there are.
func (d *drawing) count() (names, panels int) {
	named, titled := map[string]bool{}, map[string]bool{}
	for _, l := range d.lines {
		named[l.name], titled[l.panel] = true, true
	}
	if d.each {
		return min(1, len(named)), len(titled)
	}
	return len(named), len(titled)
}

// lineOf finds the curve of that name in a panel, or begins it.
func (d *drawing) lineOf(at label, group string) *line {
	if at.lone == group { // the title has it
		group = ""
	}
	l := line{panel: at.panel, name: at.name}
	if group != "" && at.apart {
		l.panel = group
	} else if group != "" {
		l.name += " " + group
	}
	if l.name = strings.TrimSpace(l.name); l.name == "" {
		l.name = d.yName
	}
	if d.each {
		l.panel = l.name
	}
	full := l.panel + "\x00" + l.name
	k, ok := d.index[full]
	if !ok {
		k = len(d.lines)
		d.index[full] = k
		d.lines = append(d.lines, l)
	}
	return &d.lines[k]
}

// label is what a point's curves are called.
type label struct {
	panel, name string
	apart       bool   // panels are by group
	lone        string // the one group
}

// labels name the curves of points: by the keys of lines, and by others that the points vary, for else a curve would
// go back.
func labels(p plots.Plot, points []PointSummary) func(*PointSummary) label {
	texts, varied := map[string]string{}, map[string]bool{} // of each key its first value; those that have others
	for _, s := range points {
		for _, c := range s.Point {
			if first, ok := texts[c.Key]; ok && first != c.Text {
				varied[c.Key] = true
			} else if !ok {
				texts[c.Key] = c.Text
			}
		}
	}
	return func(s *PointSummary) label {
		out := label{apart: p.Panels == byGroup}
		if len(p.Groups) == 1 && !out.apart {
			out.lone = p.Groups[0]
		}
		for _, key := range p.Lines {
			for _, c := range s.Point {
				if c.Key == key && key != p.Panels {
					out.name += " " + c.Text
				}
			}
		}
		for _, c := range s.Point {
			switch {
			case c.Key == p.Panels:
				out.panel = c.Key + "=" + c.Text
			case c.Key != p.X && varied[c.Key] && !slices.Contains(p.Lines, c.Key):
				out.name += " " + c.Key + "=" + c.Text
			}
		}
		return out
	}
}

// collect makes a plot's curves in the order of the points.
func collect(p plots.Plot, points []PointSummary, each bool) drawing {
	d := drawing{index: map[string]int{}, xName: p.X, yName: p.Y, each: each}
	if len(points) == 0 {
		return d
	}
	low := math.MaxInt
	for _, s := range points {
		if s.N > 0 { // 0: of another world only
			low, d.most = min(low, s.N), max(d.most, s.N)
		}
	}
	d.runs = countOf(min(low, d.most), d.most)
	if d.note = d.runs; d.most > 1 {
		d.note = meanNote + d.runs
	}
	name := labels(p, points)
	switch {
	case p.Drawn == plots.KindBox:
		d.boxes(p, points, name)
	case p.Kind == plots.OverTime:
		d.overTime(p, points, name)
	case p.Kind == plots.OverSize:
		d.overSize(p, points, name)
	case p.Kind == plots.CDF:
		d.cumulative(p, points, name)
	default:
		d.overSweep(p, points, name)
	}
	return d
}

// wanted reports whether a plot shows a group: that of a name, or a flow of the traffic of that name.
func wanted(p *plots.Plot, group string) bool {
	return len(p.Groups) == 0 || slices.ContainsFunc(p.Groups, func(g string) bool {
		return group == g || strings.HasPrefix(group, g+".")
	})
}

// places gives points their places on the axis of a sweep key, which words have in their order.
func (d *drawing) places(p plots.Plot, points []PointSummary) (at []float64) {
	numbers := p.Drawn != plots.KindBars && p.Drawn != plots.KindBox && p.Drawn != plots.KindHeat
	for _, s := range points {
		for _, c := range s.Point {
			numbers = numbers && (c.IsNum || c.Key != p.X)
		}
	}
	place := map[string]int{} // of a word on the x axis
	for i := range points {
		x := 0.0
		for _, c := range points[i].Point {
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
		at = append(at, x)
	}
	d.xs = append(d.xs, at...)
	return at
}

// overSweep has a measure over a sweep key. A measure with several groups that the plot neither distinguishes nor
// chooses is shown by its first group (a queue's mean), and the note names the others.
func (d *drawing) overSweep(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	every := slices.Contains(p.Lines, byGroup) || p.Panels == byGroup || len(p.Groups) > 1
	var left []string
	shown := ""
	for i, x := range d.places(p, points) {
		s := &points[i]
		first := true
		for _, v := range s.Values {
			if v.Measure != p.Y || !wanted(&p, v.Group) {
				continue
			}
			if !every && !first {
				if !slices.Contains(left, v.Group) {
					left = append(left, v.Group)
				}
				continue
			}
			if first = false; shown == "" {
				shown = v.Group
			}
			d.unit = v.Unit
			l := d.lineOf(name(s), v.Group)
			l.x, l.y, l.half = append(l.x, x), append(l.y, v.Mean), append(l.half, v.Half)
		}
	}
	if len(left) > 0 {
		d.note += fmt.Sprintf("; of %s only %s, not %s", spoken(p.Y), shown, strings.Join(left, ", "))
	}
}

// overTime has a series of each point's first run, or with a band the mean of all runs.
func (d *drawing) overTime(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	d.plain, d.xUnit = true, "s"
	if p.Error == "band" && d.most > 1 {
		d.meansOverTime(p, points, name)
		return
	}
	seeds := map[uint64]bool{}
	most := mostShown
	for pass := range 2 { // many curves have fewer values each
		for i := range points {
			s := &points[i]
			if len(s.Runs) == 0 {
				continue
			}
			r := s.Runs[0]
			seeds[r.Seed] = true
			d.note = oneRun(r.Seed, s.N)
			for k := range r.Series {
				x := &r.Series[k]
				if x.Name != p.Y || !wanted(&p, x.Group) {
					continue
				}
				d.unit = x.Unit
				l := d.lineOf(name(s), x.Group)
				if pass == 0 {
					continue
				}
				for _, v := range thinned(x.Values, most) {
					t := x.Time(v.at)
					d.xs = append(d.xs, t)
					l.x, l.y = append(l.x, t), append(l.y, v.value)
				}
			}
		}
		if n := len(d.lines); n > 0 {
			most = max(200, min(mostShown, 40*mostShown/n))
		}
	}
	if len(seeds) > 1 {
		d.note = "the first seed of each point"
	}
}

// meansOverTime has the means of all runs' series, with their intervals.
func (d *drawing) meansOverTime(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	for i := range points {
		s := &points[i]
		var groups []string
		at := map[string][][]float64{} // of a group by time, the runs' values
		first := map[string]*measure.Series{}
		for _, r := range s.Runs {
			for k := range r.Series {
				x := &r.Series[k]
				if x.Name != p.Y || !wanted(&p, x.Group) {
					continue
				}
				if first[x.Group] == nil {
					first[x.Group], groups = x, append(groups, x.Group)
				}
				for t, v := range x.Values {
					for len(at[x.Group]) <= t {
						at[x.Group] = append(at[x.Group], nil)
					}
					at[x.Group][t] = append(at[x.Group][t], float64(v))
				}
			}
		}
		for _, g := range groups {
			d.unit = first[g].Unit
			l := d.lineOf(name(s), g)
			step := max(1, len(at[g])/mostShown)
			for t := 0; t < len(at[g]); t += step {
				mean, half := claim.MeanInterval(at[g][t])
				d.xs = append(d.xs, first[g].Time(t))
				l.x, l.y, l.half = append(l.x, first[g].Time(t)), append(l.y, mean), append(l.half, half)
			}
		}
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

func thinned(values []measure.Number, most int) (out []sampled) {
	if len(values) <= most {
		for i, v := range values {
			out = append(out, sampled{i, float64(v)})
		}
		return out
	}
	parts := most / 2
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
func (d *drawing) overSize(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	d.xUnit = "bytes"
	for _, t := range sizeTables(points) {
		m := t.Measure
		if t.Of != "mean" {
			m += "_" + strings.ReplaceAll(t.Of, ".", "_")
		}
		if m != p.Y || !wanted(&p, t.Traffic) {
			continue
		}
		d.unit = t.Unit
		for i := range points {
			l := d.lineOf(name(&points[i]), t.Traffic)
			for k, e := range t.Edges {
				d.xs = append(d.xs, float64(e))
				l.x, l.y, l.half = append(l.x, float64(e)), append(l.y, t.Mean[i][k]), append(l.half, t.Half[i][k])
			}
		}
	}
}

// unitOf says which quantity a sweep value is.
func unitOf(text string) string {
	if text == "" {
		return ""
	}
	switch {
	case strings.HasSuffix(text, "%"):
		return "share"
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
