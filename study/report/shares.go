package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"weir/internal/text"
	"weir/study/experiment/plots"
	"weir/study/figure"
)

// valuePool is the distribution of one group over all runs of a point.
type valuePool struct {
	group  string
	unit   string
	counts map[float64]uint64
}

// poolValues returns the distributions of a point's runs merged by group, in the order of the groups. It leaves out
// groups that the plot does not show.
func poolValues(p *plots.Plot, s *PointSummary) (out []*valuePool) {
	at := map[string]*valuePool{}
	for _, r := range s.Runs {
		for k := range r.Distributions {
			x := &r.Distributions[k]
			if x.Name != p.Measure() || len(x.Values) == 0 || !showsGroup(p, x.Group) {
				continue
			}
			if at[x.Group] == nil {
				at[x.Group] = &valuePool{x.Group, x.Unit, map[float64]uint64{}}
				out = append(out, at[x.Group])
			}
			for j, v := range x.Values {
				at[x.Group].counts[v] += x.Counts[j]
			}
		}
	}
	return out
}

// sortedValues returns the values in ascending order, and the total count.
func (p *valuePool) sortedValues() (values []float64, total uint64) {
	values = slices.Sorted(maps.Keys(p.counts))
	for _, v := range values {
		total += p.counts[v]
	}
	return values, total
}

// addDistributions adds the cumulative share of all runs' values up to each value, or beyond each for a CCDF. It sets
// the note to the number of values.
func (d *curveSet) addDistributions(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	d.plain, d.steps = true, true
	beyond := p.Y == plots.KindCCDF
	if d.yName = "share of values"; beyond {
		d.yName = "share of values beyond"
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	smallest := 1.0 // minimum of the curves' first shares
	for i := range points {
		for _, g := range poolValues(&p, &points[i]) {
			d.xUnit = g.unit
			values, total := g.sortedValues()
			low, high = min(low, total), max(high, total)
			l := d.findCurve(name(&points[i]), g.group)
			sum := uint64(0)
			for k, v := range values {
				sum += g.counts[v]
				share := float64(sum) / float64(total)
				if k == 0 {
					smallest = min(smallest, share)
				}
				if beyond {
					share = float64(total-sum) / float64(total)
				}
				l.x, l.y = append(l.x, v), append(l.y, share)
			}
			d.xs = append(d.xs, values[0], values[len(values)-1])
		}
	}
	// Insert the start of each curve at 0, or at 1 if it falls. If most values equal the smallest one, a rising curve
	// starts there.
	for i := range d.curves {
		l := &d.curves[i]
		switch {
		case len(l.x) == 0 || !beyond && smallest > 0.5:
			continue
		case !beyond:
			l.y = slices.Insert(l.y, 0, 0)
		default:
			l.y = slices.Insert(l.y, 0, 1)
		}
		l.x = slices.Insert(l.x, 0, l.x[0])
		if last := len(l.y) - 1; beyond && p.LogY { // a logarithmic axis cannot show the last share, 0
			l.y[last] = l.y[last-1]
		}
	}
	if d.note = fmt.Sprintf("%d %s", low, text.Plural(int(low), "value")); low != high {
		d.note = fmt.Sprintf("%d to %d values", low, high)
	}
}

// addBoxes adds boxes over all values of a measure's distribution or, without one, over the values of the seeds. It
// sets the note to the meaning of the boxes.
func (d *curveSet) addBoxes(p plots.Plot, points []PointSummary, name func(*PointSummary) curveLabel) {
	every := slices.Contains(p.Lines, byGroup) || p.Panels == byGroup || len(p.Groups) > 0
	source := "the seeds"
	for i, x := range d.placePoints(p, points) {
		s := &points[i]
		add := func(group, unit string, values []float64, counts []uint64) {
			b, ok := newBox(values, counts)
			if !ok {
				return
			}
			d.unit = unit
			l := d.findCurve(name(s), group)
			l.x, l.y, l.boxes = append(l.x, x), append(l.y, b.Median), append(l.boxes, b)
		}
		if all := poolValues(&p, s); len(all) > 0 {
			source = "all values"
			for _, g := range all {
				values, _ := g.sortedValues()
				counts := make([]uint64, len(values))
				for k, v := range values {
					counts[k] = g.counts[v]
				}
				add(g.group, g.unit, values, counts)
			}
			continue
		}
		for k, v := range s.Values {
			if v.Measure != p.Y || !showsGroup(&p, v.Group) || !every && k > 0 && s.Values[k-1].Measure == p.Y {
				continue
			}
			values := seedValues(s, v)
			slices.Sort(values)
			add(v.Group, v.Unit, values, nil)
		}
	}
	d.note = fmt.Sprintf("quartiles and median of %s, whiskers to 5 %% and 95 %%", source)
	if source == "the seeds" {
		d.note = fmt.Sprintf("quartiles and median of %s, whiskers to the ends, %s", source, d.runs)
	}
}

// seedValues returns the defined values of a measure and group, at most one for each run of a point.
func seedValues(s *PointSummary, v Value) (out []float64) {
	for _, r := range s.Runs {
		for _, m := range r.AllMeasures() {
			if m.Name != v.Measure {
				continue
			}
			if m.Groups == nil && v.Group == "" && !math.IsNaN(m.Value) {
				out = append(out, m.Value)
			}
			for _, g := range m.Groups {
				if g.Group == v.Group && !math.IsNaN(g.Value) {
					out = append(out, g.Value)
				}
			}
		}
	}
	return out
}

// newBox returns the quartiles and whiskers of ascending values with their counts; ok is false without values. Whiskers
// reach to 5 % and 95 %. Without counts each value counts once, and the whiskers are the extremes.
func newBox(values []float64, counts []uint64) (b figure.Box, ok bool) {
	if len(values) == 0 {
		return b, false
	}
	total := uint64(0)
	for i := range values {
		if counts == nil {
			total++
		} else {
			total += counts[i]
		}
	}
	quantile := func(share float64) float64 { // the smallest value up to which the share is reached
		want, sum := uint64(math.Ceil(share*float64(total))), uint64(0)
		for i := range values {
			if counts == nil {
				sum++
			} else {
				sum += counts[i]
			}
			if sum >= max(want, 1) {
				return values[i]
			}
		}
		return values[len(values)-1]
	}
	b = figure.Box{Low: quantile(0.05), Q1: quantile(0.25), Median: quantile(0.5), Q3: quantile(0.75),
		High: quantile(0.95)}
	if counts == nil {
		b.Low, b.High = values[0], values[len(values)-1]
	}
	return b, true
}
