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

// byGroup selects the groups of a measure in place of a sweep key.
const byGroup = "traffic"

// curve is one curve of a plot.
type curve struct {
	panel, name string
	x           []float64
	y, half     []float64 // half is nil without intervals
	boxes       []figure.Box
}

// maxHeight returns the largest magnitude of a value including its interval, in base units; 0 without values.
func (d *curveSet) maxHeight() (height float64) {
	for _, l := range d.curves {
		for i, y := range l.y {
			if !math.IsNaN(y) {
				height = max(height, math.Abs(y)+l.intervalAt(i))
			}
		}
		for _, b := range l.boxes {
			height = max(height, b.High)
		}
	}
	return height
}

// intervalAt returns half of the interval of value i; 0 without an interval.
func (l *curve) intervalAt(i int) float64 {
	if l.half == nil || math.IsNaN(l.half[i]) {
		return 0
	}
	return l.half[i]
}

// withoutCurves returns a copy without its curves. The copy shares the rest.
func (d *curveSet) withoutCurves() curveSet {
	out := *d
	out.curves = nil
	return out
}

// noteBothWorlds puts the number of runs of each world into the note of the lab's curves d, if the notes of the worlds
// differ. It has no effect on plots without markers.
func (d *curveSet) noteBothWorlds(sim *curveSet) {
	if d.note == sim.note || d.plain {
		return
	}
	d.note = d.runs + " in the lab, " + sim.runs + " in the simulator"
	if max(d.maxRuns, sim.maxRuns) > 1 {
		d.note = meanNote + d.note
	}
}

// meanNote begins the note of a plot with intervals; the number of runs follows.
const meanNote = "mean and 95 % interval of "

// singleRunNote returns the note of a plot that shows one of several runs.
func singleRunNote(seed uint64, runs int) string {
	if runs > 1 {
		return fmt.Sprintf("seed %d, one of %d runs", seed, runs)
	}
	return fmt.Sprintf("one run, seed %d", seed)
}

// hasMeasure reports whether any run has the measure, defined or not.
func hasMeasure(name string, points []PointSummary) bool {
	for _, s := range points {
		for _, r := range s.Runs {
			for _, m := range r.AllMeasures() {
				if m.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// curveSet is the content of a plot for one world.
type curveSet struct {
	curves        []curve
	index         map[string]int
	xs            []float64
	words         []string // labels at 0, 1, 2, … of an x axis without numbers
	xName, yName  string
	unit, xUnit   string
	runs, note    string // note below the title, beginning with the number of runs
	maxRuns       int    // maximum number of runs of a point
	plain, steps  bool   // without markers; as steps
	panelPerCurve bool   // a panel for each curve
}

// countCurves returns the number of different curve names and of panels.
func (d *curveSet) countCurves() (names, panels int) {
	named, titled := map[string]bool{}, map[string]bool{}
	for _, l := range d.curves {
		named[l.name], titled[l.panel] = true, true
	}
	if d.panelPerCurve {
		return min(1, len(named)), len(titled)
	}
	return len(named), len(titled)
}

// findCurve returns the curve of a point and group, and adds it if necessary. The pointer is valid until the next call.
func (d *curveSet) findCurve(label curveLabel, group string) *curve {
	if label.onlyGroup == group { // the title names the group
		group = ""
	}
	l := curve{panel: label.panel, name: label.name}
	if group != "" && label.panelByGroup {
		l.panel = group
	} else if group != "" {
		l.name += " " + group
	}
	if l.name = strings.TrimSpace(l.name); l.name == "" {
		l.name = d.yName
	}
	if d.panelPerCurve {
		l.panel = l.name
	}
	full := l.panel + "\x00" + l.name
	k, ok := d.index[full]
	if !ok {
		k = len(d.curves)
		d.index[full] = k
		d.curves = append(d.curves, l)
	}
	return &d.curves[k]
}

// curveLabel names the curves of a point.
type curveLabel struct {
	panel, name  string
	panelByGroup bool   // a panel for each group
	onlyGroup    string // the only group
}

// newLabels returns a function that names the curves of a point by the keys of lines and by other keys that vary over
// points. Without these, one curve would have several values at the same x.
func newLabels(p plots.Plot, points []PointSummary) func(*PointSummary) curveLabel {
	texts, varied := map[string]string{}, map[string]bool{} // first value of each key; keys with other values
	for _, s := range points {
		for _, c := range s.Point {
			if first, ok := texts[c.Key]; ok && first != c.Text {
				varied[c.Key] = true
			} else if !ok {
				texts[c.Key] = c.Text
			}
		}
	}
	return func(s *PointSummary) curveLabel {
		out := curveLabel{panelByGroup: p.Panels == byGroup}
		if len(p.Groups) == 1 && !out.panelByGroup {
			out.onlyGroup = p.Groups[0]
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

// collectCurves returns the curves of a plot in the order of the points, in base units. each gives every curve its own
// panel.
func collectCurves(p plots.Plot, points []PointSummary, each bool) curveSet {
	d := curveSet{index: map[string]int{}, xName: p.X, yName: p.Y, panelPerCurve: each}
	if len(points) == 0 {
		return d
	}
	low := math.MaxInt
	for _, s := range points {
		if s.N > 0 { // 0: only in the other world
			low, d.maxRuns = min(low, s.N), max(d.maxRuns, s.N)
		}
	}
	d.runs = runCountText(min(low, d.maxRuns), d.maxRuns)
	if d.note = d.runs; d.maxRuns > 1 {
		d.note = meanNote + d.runs
	}
	name := newLabels(p, points)
	switch {
	case p.DrawnAs == plots.KindBox:
		d.addBoxes(p, points, name)
	case p.Kind == plots.OverTime:
		d.addSeries(p, points, name)
	case p.Kind == plots.OverSize:
		d.addSizes(p, points, name)
	case p.Kind == plots.CDF:
		d.addDistributions(p, points, name)
	default:
		d.addSweep(p, points, name)
	}
	return d
}

// showsGroup reports whether a plot shows a group: by its name, or as a flow (name.N) of the traffic. A plot without
// groups shows all.
func showsGroup(p *plots.Plot, group string) bool {
	return len(p.Groups) == 0 || slices.ContainsFunc(p.Groups, func(g string) bool {
		return group == g || strings.HasPrefix(group, g+".")
	})
}

// placePoints returns the points' x values for a sweep key. Words get consecutive places in their order; so do numbers
// on axes of bars, boxes and heat maps. It appends to d.xs and d.words, and sets d.xUnit for numbers.
func (d *curveSet) placePoints(p plots.Plot, points []PointSummary) (values []float64) {
	numbers := p.DrawnAs != plots.KindBars && p.DrawnAs != plots.KindBox && p.DrawnAs != plots.KindHeat
	for _, s := range points {
		for _, c := range s.Point {
			numbers = numbers && (c.IsNum || c.Key != p.X)
		}
	}
	place := map[string]int{} // places of words
	for i := range points {
		x := 0.0
		for _, c := range points[i].Point {
			switch {
			case c.Key != p.X:
			case numbers:
				x, d.xUnit = c.Value, coordinateUnit(c.Text)
			default:
				if _, ok := place[c.Text]; !ok {
					place[c.Text] = len(d.words)
					d.words = append(d.words, c.Text)
				}
				x = float64(place[c.Text])
			}
		}
		values = append(values, x)
	}
	d.xs = append(d.xs, values...)
	return values
}

// addSweep adds curves of a measure over a sweep key. If the plot neither distinguishes nor selects groups, it shows
// the first group (a queue's mean), and the note lists the others.
func (d *curveSet) addSweep(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	every := slices.Contains(p.Lines, byGroup) || p.Panels == byGroup || len(p.Groups) > 1
	var left []string
	shown := ""
	for i, x := range d.placePoints(p, points) {
		s := &points[i]
		first := true
		for _, v := range s.Values {
			if v.Measure != p.Y || !showsGroup(&p, v.Group) {
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
			l := d.findCurve(name(s), v.Group)
			l.x, l.y, l.half = append(l.x, x), append(l.y, v.Mean), append(l.half, v.HalfInterval)
		}
	}
	if len(left) > 0 {
		d.note += fmt.Sprintf("; of %s only %s is shown, not %s", readableName(p.Y), shown, strings.Join(left, ", "))
	}
}

// addSeries adds the series of each point's first run, thinned if there are many values, or the mean of all runs for a
// plot with bands. Without bands it sets the note to the seed.
func (d *curveSet) addSeries(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	d.plain, d.xUnit = true, "s"
	if p.Error == "band" && d.maxRuns > 1 {
		d.addMeanSeries(p, points, name)
		return
	}
	seeds := map[uint64]bool{}
	limit := maxShown
	for pass := range 2 { // with many curves, each gets fewer values
		for i := range points {
			s := &points[i]
			if len(s.Runs) == 0 {
				continue
			}
			r := s.Runs[0]
			seeds[r.Seed] = true
			d.note = singleRunNote(r.Seed, s.N)
			for k := range r.Series {
				x := &r.Series[k]
				if x.Name != p.Y || !showsGroup(&p, x.Group) {
					continue
				}
				d.unit = x.Unit
				l := d.findCurve(name(s), x.Group)
				if pass == 0 {
					continue
				}
				for _, v := range thinSeries(x.Values, limit) {
					t := x.Time(v.index)
					d.xs = append(d.xs, t)
					l.x, l.y = append(l.x, t), append(l.y, v.value)
				}
			}
		}
		if n := len(d.curves); n > 0 {
			limit = max(200, min(maxShown, 40*maxShown/n))
		}
	}
	if len(seeds) > 1 {
		d.note = "the first seed of each point"
	}
}

// addMeanSeries adds the means of all runs' series with their intervals. Of long series it takes every n-th value.
func (d *curveSet) addMeanSeries(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	for i := range points {
		s := &points[i]
		var groups []string
		values := map[string][][]float64{} // by group and time: values of the runs
		first := map[string]*measure.Series{}
		for _, r := range s.Runs {
			for k := range r.Series {
				x := &r.Series[k]
				if x.Name != p.Y || !showsGroup(&p, x.Group) {
					continue
				}
				if first[x.Group] == nil {
					first[x.Group], groups = x, append(groups, x.Group)
				}
				for t, v := range x.Values {
					for len(values[x.Group]) <= t {
						values[x.Group] = append(values[x.Group], nil)
					}
					values[x.Group][t] = append(values[x.Group][t], float64(v))
				}
			}
		}
		for _, g := range groups {
			d.unit = first[g].Unit
			l := d.findCurve(name(s), g)
			step := max(1, len(values[g])/maxShown)
			for t := 0; t < len(values[g]); t += step {
				mean, half := claim.MeanInterval(values[g][t])
				d.xs = append(d.xs, first[g].Time(t))
				l.x, l.y, l.half = append(l.x, first[g].Time(t)), append(l.y, mean), append(l.half, half)
			}
		}
	}
}

// sample is one value of a series with its index.
type sample struct {
	index int
	value float64
}

// maxShown limits the values of a series that a curve shows.
const maxShown = 1200

// thinSeries returns the values if they are within the limit (2 or more). Otherwise it divides them into limit/2 parts
// and returns the smallest and the largest value of each, in order of time. Undefined values are left out then.
func thinSeries(values []measure.Number, limit int) (out []sample) {
	if len(values) <= limit {
		for i, v := range values {
			out = append(out, sample{i, float64(v)})
		}
		return out
	}
	parts := limit / 2
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
			if n := len(out); n == 0 || out[n-1].index != i {
				out = append(out, sample{i, float64(values[i])})
			}
		}
	}
	return out
}

// addSizes adds curves of a measure by flow size, at the largest size of each bin.
func (d *curveSet) addSizes(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	d.xUnit = "bytes"
	for _, t := range sizeTables(points) {
		m := t.Measure
		if t.Of != "mean" {
			m += "_" + strings.ReplaceAll(t.Of, ".", "_")
		}
		if m != p.Y || !showsGroup(&p, t.Traffic) {
			continue
		}
		d.unit = t.Unit
		for i := range points {
			l := d.findCurve(name(&points[i]), t.Traffic)
			for k, e := range t.Edges {
				d.xs = append(d.xs, float64(e))
				l.x, l.y, l.half = append(l.x, float64(e)), append(l.y, t.Mean[i][k]), append(l.half, t.Half[i][k])
			}
		}
	}
}

// coordinateUnit returns the unit of a sweep value's text; "" if it is unknown. It is a unit of measures, such as bps,
// or share.
func coordinateUnit(text string) string {
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
