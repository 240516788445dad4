package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/study/claim"
	"weir/study/measure"
)

// sizeTable shows a measure of one traffic's flows by their size, with a row for each bin and a value for each point.
// There is one table for the mean and one for each percentile.
type sizeTable struct {
	Measure, Traffic, Unit string
	Of                     string // mean, p50, …
	Edges                  []int64
	N                      [][]int // by point, by bin: number of finished flows over all its runs
	Points                 []string
	Mean, Half             [][]float64 // by point, by bin
}

// Title returns the title of the table.
func (t *sizeTable) Title() string {
	return fmt.Sprintf("%s of %s, %s by flow size", strings.ReplaceAll(t.Measure, "_", " "), t.Traffic, t.Of)
}

// sizeTables returns the tables by flow size of the points. Means and intervals are over the seeds. Bins of runs with
// different edges are joined by their index, and the first run's edges are shown. A point without the traffic has
// undefined values. Tables without any value are left out.
func sizeTables(points []PointSummary) []sizeTable {
	var out []sizeTable
	for _, first := range listBins(points) {
		for percentile := -1; percentile < len(first.Percentiles); percentile++ {
			t := sizeTable{Measure: first.Name, Traffic: first.Traffic, Unit: first.Unit, Of: "mean"}
			if percentile >= 0 {
				t.Of = "p" + strconv.FormatFloat(first.Percentiles[percentile], 'f', -1, 64)
			}
			for _, b := range first.Bins {
				t.Edges = append(t.Edges, b.ToBytes)
			}
			for _, p := range points {
				t.Points = append(t.Points, measure.PointName(p.Point))
				mean, half, flows := make([]float64, len(first.Bins)), make([]float64, len(first.Bins)),
					make([]int, len(first.Bins))
				for i := range first.Bins {
					var x []float64
					for _, r := range p.Runs {
						k := slices.IndexFunc(r.Bins, first.isSameMeasure)
						if k < 0 || i >= len(r.Bins[k].Bins) {
							continue
						}
						b := &r.Bins[k].Bins[i]
						flows[i] += b.N
						if percentile < 0 {
							x = append(x, float64(b.Mean))
						} else if percentile < len(b.Percentiles) {
							x = append(x, float64(b.Percentiles[percentile]))
						}
					}
					mean[i], half[i] = claim.MeanInterval(x)
				}
				t.Mean, t.Half, t.N = append(t.Mean, mean), append(t.Half, half), append(t.N, flows)
			}
			if t.hasValues() {
				out = append(out, t)
			}
		}
	}
	return out
}

// listBins returns the bins of each measure and traffic from the first run that has them, in the order of runs.
func listBins(points []PointSummary) (out []binSeries) {
	for _, p := range points {
		for _, r := range p.Runs {
			for k := range r.Bins {
				b := binSeries{&r.Bins[k]}
				if !slices.ContainsFunc(out, func(x binSeries) bool { return x.isSameMeasure(*b.Binned) }) {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

// binSeries are the bins of one measure and traffic.
type binSeries struct{ *measure.Binned }

// isSameMeasure reports whether x has the same measure and traffic.
func (b binSeries) isSameMeasure(x measure.Binned) bool {
	return b.Name == x.Name && b.Traffic == x.Traffic
}

// hasValues reports whether the table has a defined value.
func (t *sizeTable) hasValues() bool {
	for _, p := range t.Mean {
		for _, v := range p {
			if !math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}

// sizeGrid is a laid-out table by flow size.
type sizeGrid struct {
	grid
	title string
}

// sizeGrids returns the selected tables by flow size with a column for each point. With a single point, one table has a
// column for the mean and each percentile of a measure and traffic.
func (w *worlds) sizeGrids(l *TableOptions) (out []sizeGrid) {
	points := w.sizePoints()
	keys := varyingKeys(points)
	for _, t := range sizeTables(points) {
		if !l.showsValue(Value{Measure: t.measureName(), Group: t.Traffic}) {
			continue
		}
		g := w.newSizeGrid(&t, points, keys)
		if last := len(out) - 1; len(points) == 1 && last >= 0 && out[last].title == g.title {
			out[last].values = append(out[last].values, g.values...)
			continue
		}
		out = append(out, g)
	}
	return out
}

// measureName returns the name of the measure that the table shows by size, such as fct_p99.
func (t *sizeTable) measureName() string {
	if t.Of == "mean" {
		return t.Measure
	}
	p, _ := strconv.ParseFloat(t.Of[1:], 64)
	return measure.PercentileName(t.Measure, p)
}

// newSizeGrid lays out a table. keys are the indices of the varying keys of points, which head the columns. In each row
// it marks the best of the compared points, unless both worlds are shown.
func (w *worlds) newSizeGrid(t *sizeTable, points []PointSummary, keys []int) sizeGrid {
	g := sizeGrid{grid: grid{rows: len(t.Edges)}}
	sc := w.scales.chooseScale(t.Measure, t.Unit)
	unit := bracketUnit(sc.Unit)
	heads := func(last string) []string { return append(make([]string, max(len(keys), 1)), last) }
	size, n := column{head: heads("up to")}, column{head: heads("flows")}
	for i, e := range t.Edges {
		low, high := math.MaxInt, 0
		for _, flows := range t.N {
			low, high = min(low, flows[i]), max(high, flows[i])
		}
		count := strconv.Itoa(low)
		if low != high { // they differ between the points
			count = fmt.Sprintf("%d … %d", low, high)
		}
		size.cells, n.cells = append(size.cells, textCell(FormatBytes(e))), append(n.cells, textCell(count))
	}
	for i, k := range keys {
		size.head[i] = points[0].Point[k].Key
	}
	g.keys = []column{size, n}
	for p := range points {
		c := column{head: append(pointTexts(points[p].Point, keys), unit), value: Value{Measure: t.measureName(),
			Group: t.Traffic}}
		if len(keys) == 0 {
			c.head = []string{"", unit}
		}
		if g.title = t.Title(); len(points) == 1 {
			g.title, c.head[0] = strings.Replace(g.title, ", "+t.Of+" by", " by", 1), t.Of
		}
		for i := range t.Edges {
			c.cells = append(c.cells, numberCell(t.Mean[p][i]*sc.Factor, t.Half[p][i]*sc.Factor))
		}
		g.values = append(g.values, c)
	}
	if w.sim != nil {
		return g // the points of two worlds are in another order
	}
	for i := range t.Edges {
		for _, set := range w.sets {
			estimates := make([]estimate, len(set))
			for k, p := range set {
				estimates[k] = estimate{t.Mean[p][i], t.Half[p][i]}
			}
			for k, m := range markBest(estimates, w.spec.Better(t.measureName(), t.Traffic)) {
				g.values[set[k]].cells[i].mark = m
			}
		}
	}
	return g
}

// addSizes records the values of points by flow size.
func (s *unitScales) addSizes(points []PointSummary) {
	for _, t := range sizeTables(points) {
		for _, row := range t.Mean {
			for _, v := range row {
				s.addValue(t.Measure, t.Unit, v)
			}
		}
	}
}

// FormatBytes formats a size like an experiment's file: 10kB, 1.5MB, with at most four digits.
func FormatBytes(n int64) string {
	for _, u := range []struct {
		worth float64
		name  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if float64(n) >= u.worth {
			return strconv.FormatFloat(float64(n)/u.worth, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
