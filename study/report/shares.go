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

// pool is a distribution of all runs of a point together, by group.
type pool struct {
	group  string
	unit   string
	counts map[float64]uint64
}

// pools are those of a point's runs, in the order of the groups.
func pools(p *plots.Plot, s *PointSummary) (out []*pool) {
	at := map[string]*pool{}
	for _, r := range s.Runs {
		for k := range r.Distributions {
			x := &r.Distributions[k]
			if x.Name != p.Measured() || len(x.Values) == 0 || !wanted(p, x.Group) {
				continue
			}
			if at[x.Group] == nil {
				at[x.Group] = &pool{x.Group, x.Unit, map[float64]uint64{}}
				out = append(out, at[x.Group])
			}
			for j, v := range x.Values {
				at[x.Group].counts[v] += x.Counts[j]
			}
		}
	}
	return out
}

// sorted are the values, ascending, and how many there are of all.
func (p *pool) sorted() (values []float64, total uint64) {
	values = slices.Sorted(maps.Keys(p.counts))
	for _, v := range values {
		total += p.counts[v]
	}
	return values, total
}

// cumulative has the share of all runs' values up to each value, or beyond each.
func (d *drawing) cumulative(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	d.plain, d.steps = true, true
	beyond := p.Y == plots.KindCCDF
	if d.yName = "share of values"; beyond {
		d.yName = "share of values beyond"
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	smallest := 1.0 // of the first shares
	for i := range points {
		for _, g := range pools(&p, &points[i]) {
			d.xUnit = g.unit
			values, total := g.sorted()
			low, high = min(low, total), max(high, total)
			l := d.lineOf(name(&points[i]), g.group)
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
	// a curve rises from 0, or falls from 1; where all values but few are the least one, an axis that rises begins there
	for i := range d.lines {
		l := &d.lines[i]
		switch {
		case len(l.x) == 0 || !beyond && smallest > 0.5:
			continue
		case !beyond:
			l.y = slices.Insert(l.y, 0, 0)
		default:
			l.y = slices.Insert(l.y, 0, 1)
		}
		l.x = slices.Insert(l.x, 0, l.x[0])
		if last := len(l.y) - 1; beyond && p.LogY { // its last share is 0, which the axis does not have
			l.y[last] = l.y[last-1]
		}
	}
	if d.note = fmt.Sprintf("%d %s", low, text.Plural(int(low), "value")); low != high {
		d.note = fmt.Sprintf("%d to %d values", low, high)
	}
}

// boxes sums up what is known of a measure: all values of its distribution or, without one, the values of the seeds.
func (d *drawing) boxes(p plots.Plot, points []PointSummary, name func(*PointSummary) label) {
	every := slices.Contains(p.Lines, byGroup) || p.Panels == byGroup || len(p.Groups) > 0
	of := "the seeds"
	for i, x := range d.places(p, points) {
		s := &points[i]
		add := func(group, unit string, values []float64, counts []uint64) {
			b, ok := boxOf(values, counts)
			if !ok {
				return
			}
			d.unit = unit
			l := d.lineOf(name(s), group)
			l.x, l.y, l.boxes = append(l.x, x), append(l.y, b.Median), append(l.boxes, b)
		}
		if all := pools(&p, s); len(all) > 0 {
			of = "all values"
			for _, g := range all {
				values, _ := g.sorted()
				counts := make([]uint64, len(values))
				for k, v := range values {
					counts[k] = g.counts[v]
				}
				add(g.group, g.unit, values, counts)
			}
			continue
		}
		for k, v := range s.Values {
			if v.Measure != p.Y || !wanted(&p, v.Group) || !every && k > 0 && s.Values[k-1].Measure == p.Y {
				continue
			}
			values := seedValues(s, v)
			slices.Sort(values)
			add(v.Group, v.Unit, values, nil)
		}
	}
	d.note = fmt.Sprintf("quartiles and median of %s, whiskers to 5 %% and 95 %%", of)
	if of == "the seeds" {
		d.note = fmt.Sprintf("quartiles and median of %s, whiskers to the ends, %s", of, d.runs)
	}
}

// seedValues are the values that the runs of a point have of one measure and group, as far as they are defined.
func seedValues(s *PointSummary, v Value) (out []float64) {
	for _, r := range s.Runs {
		for _, m := range r.Listed() {
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

// boxOf has the quartiles of ascending values with their counts; without counts, each once, the whiskers are their
// ends.
func boxOf(values []float64, counts []uint64) (b figure.Box, ok bool) {
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
	at := func(share float64) float64 { // the least value up to which the share is reached
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
	b = figure.Box{Low: at(0.05), Q1: at(0.25), Median: at(0.5), Q3: at(0.75), High: at(0.95)}
	if counts == nil {
		b.Low, b.High = values[0], values[len(values)-1]
	}
	return b, true
}
