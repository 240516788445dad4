package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// Figure is what is drawn: panels with the same axes, below a title and above a legend.
type Figure struct {
	Title  string
	Note   string // below the title: how many runs, what the intervals are
	X, Y   Axis
	Panels []Panel
	Names  []string // of the series, which the legend has in this order
	Extra  []Entry  // what the legend has behind them
	Legend Place
	Size   Size
	Across int      // panels beside each other; 0: as many as there is room for
	Bar    *Axis    // of a heat map: its colours
	Does   []string // what rows do, in the order of its colours, up to MostDone; the axis Y has no words of its own then
}

// Panel is one part of a figure.
type Panel struct {
	Title string
	Marks []Mark
	Heat  *Heat
	Rows  *Rows
}

// Form is how the values of a mark look.
type Form uint8

// Forms of marks. Hollow are points that are not filled, Crosses are numbers of others.
const (
	Line Form = iota // points too, where they are few
	Steps
	Points
	Hollow
	Crosses
	Bars
	Boxes
	Area   // rectangles from each X to the next one, from the axis up to Y
	Blocks // of the legend: what rows do
)

// Mark is one series in one form.
type Mark struct {
	Series    int // number of its style and its name; −1: ink
	Form      Form
	X, Y      []float64
	Low, High []float64 // ends of intervals; nil for none, NaN where there is none
	Band      bool      // the intervals are a band
	Plain     bool      // a line with markers at few places only
	Dash      Dash
	Boxes     []Box // of the form Boxes, by X
	Thin      bool  // drawn more lightly, for it lies below others
}

// Dash says how a line is broken.
type Dash uint8

// Dashes of lines: as its series has it, none, or the one that marks a second world.
const (
	BySeries Dash = iota
	Solid
	Broken
)

// Box sums a distribution up: whiskers, quartiles, median.
type Box struct{ Low, Q1, Median, Q3, High float64 }

// Heat is a matrix of values, by row from below and by column.
type Heat struct {
	Rows, Columns int
	Values        []float64 // by row, then by column; NaN: not defined
	Paper         []float64 // numbers of others, as Values has its own; nil: none
	Edges         []float64 // of the columns; nil: they stand at 0, 1, 2, …
	Label         func(float64) string
}

// Entry is one of the legend's that no series has.
type Entry struct {
	Name string
	Form Form
	Dash Dash
	// Series is the number of a style; −1: ink
	Series int
}

// Place is where a legend stands.
type Place string

// Places of legends. Best is a corner without values, or else below.
const (
	Below       Place = "below"
	Above       Place = "above"
	Right       Place = "right"
	TopLeft     Place = "top_left"
	TopRight    Place = "top_right"
	BottomLeft  Place = "bottom_left"
	BottomRight Place = "bottom_right"
	Best        Place = "best"
	NoLegend    Place = "none"
)

// Places are all of them.
func Places() []string {
	var out []string
	for _, p := range []Place{Below, Above, Right, Best, TopLeft, TopRight, BottomLeft, BottomRight, NoLegend} {
		out = append(out, string(p))
	}
	return out
}

// Size is that of a figure, and of its text.
type Size struct {
	Width, Height vg.Length // Height 0: what the panels want
	Text          vg.Length // of labels and the legend; ticks are a little smaller
	Grow          bool      // it may be wider, for the sake of many words on an axis
}

// LeastText is the smallest text of a printed figure, in points.
const LeastText = 7

// Screen is the size of a report's figures: at the width of a phone their text can still be read.
func Screen() Size { return Size{Width: 340, Text: 11.5, Grow: true} }

// Print is the size of a printed figure. The columns of journals have 89 mm, and their pages 183 mm.
func Print(width vg.Length) Size { return Size{Width: width, Text: 8} }

// MostSeries is how many series one panel has at most: more cannot be told apart.
const MostSeries = styles

// errEmpty is that of a figure without a value.
var errEmpty = errors.New("no value of the figure is defined")

// check refuses what cannot be drawn.
func (f *Figure) check() error {
	if len(f.Panels) == 0 {
		return errEmpty
	}
	if len(f.Does) > MostDone {
		return fmt.Errorf("rows do %d things; up to %d can be told apart", len(f.Does), MostDone)
	}
	for _, p := range f.Panels {
		if p.Rows != nil {
			for _, x := range p.Rows.Spans {
				if x.Row < 0 || x.Row >= len(p.Rows.Names) || x.Does < 0 || x.Does >= len(f.Does) {
					return fmt.Errorf("a part of row %d does %d", x.Row, x.Does)
				}
			}
		}
		seen := map[int]bool{}
		for _, m := range p.Marks {
			if seen[m.Series] = true; m.Series >= 0 && m.Series >= len(f.Names) {
				return fmt.Errorf("series %d has no name", m.Series)
			}
			if len(m.X) != len(m.Y) && m.Form != Boxes {
				return fmt.Errorf("a mark has %d values of x and %d of y", len(m.X), len(m.Y))
			}
		}
		if len(seen) > MostSeries+1 {
			return fmt.Errorf("a panel has %d series; up to %d can be told apart", len(seen), MostSeries)
		}
	}
	return nil
}

// values calls f for every value of a mark that is drawn, with the ends of its interval.
func (m *Mark) values(f func(x, low, y, high float64)) {
	for i := range m.X {
		if m.Form == Boxes {
			b := m.Boxes[i]
			f(m.X[i], b.Low, b.Median, b.High)
			continue
		}
		y := m.Y[i]
		if math.IsNaN(y) || math.IsInf(y, 0) || math.IsNaN(m.X[i]) {
			continue
		}
		low, high := m.interval(i)
		f(m.X[i], low, y, high)
	}
}

// interval are the ends of value i's; the value itself if it has none.
func (m *Mark) interval(i int) (low, high float64) {
	y := m.Y[i]
	if m.Low == nil || math.IsNaN(m.Low[i]) || math.IsNaN(m.High[i]) || math.IsInf(m.Low[i], 0) {
		return y, y
	}
	return m.Low[i], m.High[i]
}

// slots are the series of a panel that share a place of the axis, side by side; nil if nothing is a bar or box.
func (p *Panel) slots() (out []int) {
	barred := slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Form == Bars || m.Form == Boxes })
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

// shift is how far a series stands from its place, and how wide it may be, in units of the axis.
func shift(slots []int, series int) (by, width float64) {
	if len(slots) == 0 {
		return 0, 0.8
	}
	width = 0.8 / float64(len(slots))
	return -0.4 + width*(float64(slices.Index(slots, series))+0.5), width
}
