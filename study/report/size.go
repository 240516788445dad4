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

// sizeTable is a measure of one traffic's flows by their size: a row a bin, a value
// of each point, for each of the measure's percentiles and the mean.
type sizeTable struct {
	Measure, Traffic, Unit string
	Of                     string // mean, p50, …
	Edges                  []int64
	N                      [][]int // by point, by bin: finished flows, of all its runs
	Points                 []string
	Mean, Half             [][]float64 // by point, by bin
}

// Title says what the table shows.
func (t *sizeTable) Title() string {
	return fmt.Sprintf("%s of %s, %s by flow size", strings.ReplaceAll(t.Measure, "_", " "), t.Traffic, t.Of)
}

// sizeTables makes the tables by flow size that the runs have. Means and intervals
// are over the seeds; bins of runs whose edges differ are joined by their number, and
// the edges are those of the first. A point that does not have the traffic has no values.
func sizeTables(points []PointSummary) []sizeTable {
	var out []sizeTable
	for _, first := range binned(points) {
		for of := -1; of < len(first.Percentiles); of++ {
			t := sizeTable{Measure: first.Name, Traffic: first.Traffic, Unit: first.Unit, Of: "mean"}
			if of >= 0 {
				t.Of = "p" + strconv.FormatFloat(first.Percentiles[of], 'f', -1, 64)
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
						k := slices.IndexFunc(r.Bins, first.same)
						if k < 0 || i >= len(r.Bins[k].Bins) {
							continue
						}
						b := &r.Bins[k].Bins[i]
						flows[i] += b.N
						if of < 0 {
							x = append(x, float64(b.Mean))
						} else if of < len(b.Percentiles) {
							x = append(x, float64(b.Percentiles[of]))
						}
					}
					mean[i], half[i] = claim.MeanInterval(x)
				}
				t.Mean, t.Half, t.N = append(t.Mean, mean), append(t.Half, half), append(t.N, flows)
			}
			if t.defined() {
				out = append(out, t)
			}
		}
	}
	return out
}

// binned has of each measure and traffic by flow size what the first run has that has it.
func binned(points []PointSummary) (out []bins) {
	for _, p := range points {
		for _, r := range p.Runs {
			for k := range r.Bins {
				b := bins{&r.Bins[k]}
				if !slices.ContainsFunc(out, func(x bins) bool { return x.same(*b.Binned) }) {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

type bins struct{ *measure.Binned }

func (b bins) same(x measure.Binned) bool { return b.Name == x.Name && b.Traffic == x.Traffic }

// defined reports whether there is a value in the table.
func (t *sizeTable) defined() bool {
	for _, p := range t.Mean {
		for _, v := range p {
			if !math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}

// sizeGrid is a table by flow size that is laid out.
type sizeGrid struct {
	grid
	title string
}

// sizeGrids are the tables by flow size of what the options show: a column for each point; of one point alone a column
// for each of mean and percentiles.
func (w *worlds) sizeGrids(l *TableOptions) (out []sizeGrid) {
	points := w.sizes()
	keys := varying(points)
	for _, t := range sizeTables(points) {
		if !l.showsValue(Value{Measure: t.name(), Group: t.Traffic}) {
			continue
		}
		g := w.sizeGrid(&t, points, keys)
		if last := len(out) - 1; len(points) == 1 && last >= 0 && out[last].title == g.title {
			out[last].values = append(out[last].values, g.values...)
			continue
		}
		out = append(out, g)
	}
	return out
}

// name is that of the measure that the table has by size: fct_p99.
func (t *sizeTable) name() string {
	if t.Of == "mean" {
		return t.Measure
	}
	p, _ := strconv.ParseFloat(t.Of[1:], 64)
	return measure.PercentileName(t.Measure, p)
}

// sizeGrid lays a table out. In a row the best of the points are marked that are compared.
func (w *worlds) sizeGrid(t *sizeTable, points []PointSummary, keys []int) sizeGrid {
	g := sizeGrid{grid: grid{rows: len(t.Edges)}}
	sc := w.scales.scale(t.Measure, t.Unit)
	unit := inBrackets(sc.Unit)
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
		size.cells, n.cells = append(size.cells, word(Bytes(e))), append(n.cells, word(count))
	}
	for i, k := range keys {
		size.head[i] = points[0].Point[k].Key
	}
	g.keys = []column{size, n}
	for p := range points {
		c := column{head: append(pointOf(points[p].Point, keys), unit), of: Value{Measure: t.name(), Group: t.Traffic}}
		if len(keys) == 0 {
			c.head = []string{"", unit}
		}
		if g.title = t.Title(); len(points) == 1 {
			g.title, c.head[0] = strings.Replace(g.title, ", "+t.Of+" by", " by", 1), t.Of
		}
		for i := range t.Edges {
			c.cells = append(c.cells, number(t.Mean[p][i]*sc.Factor, t.Half[p][i]*sc.Factor))
		}
		g.values = append(g.values, c)
	}
	if w.sim != nil {
		return g // points are those of two worlds, in another order
	}
	for i := range t.Edges {
		for _, set := range w.sets {
			of := make([]estimate, len(set))
			for k, p := range set {
				of[k] = estimate{t.Mean[p][i], t.Half[p][i]}
			}
			for k, m := range marks(of, w.spec.Better(t.name(), t.Traffic)) {
				g.values[set[k]].cells[i].mark = m
			}
		}
	}
	return g
}

// seeSizes counts the values by flow size of points.
func (s *scales) seeSizes(points []PointSummary) {
	for _, t := range sizeTables(points) {
		for _, row := range t.Mean {
			for _, v := range row {
				s.see(t.Measure, t.Unit, v)
			}
		}
	}
}

// Bytes prints a size as an experiment writes it: 10kB, 1.5MB.
func Bytes(n int64) string {
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
