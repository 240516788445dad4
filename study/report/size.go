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

// SizeTable is a measure of one traffic's flows by their size: a row a bin, a value
// of each point, for each of the measure's percentiles and the mean.
type SizeTable struct {
	Measure, Traffic, Unit string
	Of                     string // mean, p50, …
	Edges                  []int64
	N                      [][]int // by point, by bin: finished flows, of all its runs
	Points                 []string
	Mean, Half             [][]float64 // by point, by bin
}

// Title says what the table shows.
func (t *SizeTable) Title() string {
	return fmt.Sprintf("%s of %s, %s by flow size", strings.ReplaceAll(t.Measure, "_", " "), t.Traffic, t.Of)
}

// SizeTables makes the tables by flow size that the runs have. Means and intervals
// are over the seeds; bins of runs whose edges differ are joined by their number, and
// the edges are those of the first. A point that does not have the traffic has no values.
func SizeTables(points []PointSummary) []SizeTable {
	var out []SizeTable
	for _, first := range binned(points) {
		for of := -1; of < len(first.Percentiles); of++ {
			t := SizeTable{Measure: first.Name, Traffic: first.Traffic, Unit: first.Unit, Of: "mean"}
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
func (t *SizeTable) defined() bool {
	for _, p := range t.Mean {
		for _, v := range p {
			if !math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}

// columns are the table's, as the terminal and the page have them.
func (t *SizeTable) columns() (keys, values []column) {
	size := column{head: []string{"", "", "up to"}}
	n := column{head: []string{"", "", "n"}}
	for i, e := range t.Edges {
		size.cells = append(size.cells, Bytes(e))
		low, high := math.MaxInt, 0
		for _, flows := range t.N {
			low, high = min(low, flows[i]), max(high, flows[i])
		}
		if low == high {
			n.cells = append(n.cells, strconv.Itoa(low))
		} else { // they differ between the points
			n.cells = append(n.cells, fmt.Sprintf("%d … %d", low, high))
		}
	}
	keys = []column{size, n}
	for p, name := range t.Points {
		sc := scaleFor(t.Unit, largest(t.Mean[p]))
		decimals := decimalsFor(largest(t.Mean[p]) * sc.Factor)
		unit := sc.Unit
		if unit != "" {
			unit = "[" + unit + "]"
		}
		c := column{head: []string{"", strings.TrimPrefix(name, "scheme="), unit}}
		for i := range t.Edges {
			c.cells = append(c.cells, Cell(t.Mean[p][i]*sc.Factor, t.Half[p][i]*sc.Factor, decimals))
		}
		values = append(values, c)
	}
	return keys, values
}

// Sizes prints the tables by flow size, within 80 columns.
func Sizes(points []PointSummary) string {
	var b strings.Builder
	for _, t := range SizeTables(points) {
		keys, values := t.columns()
		b.WriteString("\n" + t.Title() + "\n" + blocks(keys, values, len(t.Edges), nil))
	}
	return b.String()
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
