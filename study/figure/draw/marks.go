package draw

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"weir/study/figure"
)

// errEmpty is the error for a figure without a defined value.
var errEmpty = errors.New("the figure has no defined value")

// checkFigure returns an error if the figure is inconsistent or exceeds the number of distinguishable styles.
func checkFigure(f *figure.Figure) error {
	if len(f.Panels) == 0 {
		return errEmpty
	}
	if len(f.States) > figure.MaxStates {
		return fmt.Errorf("rows show %d activities; at most %d are distinguishable", len(f.States), figure.MaxStates)
	}
	for _, p := range f.Panels {
		if p.Rows != nil {
			for _, x := range p.Rows.Spans {
				if x.Row < 0 || x.Row >= len(p.Rows.Names) || x.State < 0 || x.State >= len(f.States) {
					return fmt.Errorf("a part of row %d has the unknown activity %d", x.Row, x.State)
				}
			}
		}
		distinct := map[int]bool{}
		for _, m := range p.Marks {
			if distinct[m.Series] = true; m.Series >= 0 && m.Series >= len(f.Names) {
				return fmt.Errorf("series %d has no name", m.Series)
			}
			if len(m.X) != len(m.Y) && m.Form != figure.Boxes {
				return fmt.Errorf("a mark has %d values of x but %d of y", len(m.X), len(m.Y))
			}
		}
		if len(distinct) > figure.MaxSeries+1 {
			return fmt.Errorf("a panel has %d series; at most %d are distinguishable", len(distinct), figure.MaxSeries)
		}
	}
	return nil
}

// eachValue calls f for every defined value of the mark with the ends of its interval; both ends are y without one. For
// a box they are the whiskers, and y the median.
func eachValue(m *figure.Mark, f func(x, low, y, high float64)) {
	for i := range m.X {
		if m.Form == figure.Boxes {
			b := m.Boxes[i]
			f(m.X[i], b.Low, b.Median, b.High)
			continue
		}
		y := m.Y[i]
		if math.IsNaN(y) || math.IsInf(y, 0) || math.IsNaN(m.X[i]) {
			continue
		}
		low, high := intervalOf(m, i)
		f(m.X[i], low, y, high)
	}
}

// intervalOf returns the interval of value i; y, y if it has no interval, where y is the value.
func intervalOf(m *figure.Mark, i int) (low, high float64) {
	y := m.Y[i]
	if m.Low == nil || math.IsNaN(m.Low[i]) || math.IsNaN(m.High[i]) || math.IsInf(m.Low[i], 0) {
		return y, y
	}
	return m.Low[i], m.High[i]
}

// slotsOf returns the series that stand side by side at each place of the panel, ascending; nil without bars and
// boxes.
func slotsOf(p *figure.Panel) (out []int) {
	barred := slices.ContainsFunc(p.Marks, func(m figure.Mark) bool {
		return m.Form == figure.Bars ||
			m.Form == figure.Boxes
	})
	if !barred {
		return nil
	}
	for _, m := range p.Marks {
		if !slices.Contains(out, m.Series) {
			out = append(out, m.Series)
		}
	}
	slices.Sort(out)
	return out
}

// slotOffset returns the offset of a series from the centre of its place and its width, both in units of the axis.
// slots are from slotsOf and must include the series. Without slots it returns 0, 0.8.
func slotOffset(slots []int, series int) (by, width float64) {
	if len(slots) == 0 {
		return 0, 0.8
	}
	width = 0.8 / float64(len(slots))
	return -0.4 + width*(float64(slices.Index(slots, series))+0.5), width
}
