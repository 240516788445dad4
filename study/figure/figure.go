package figure

import (
	"math"

	"weir/internal/linked"
	"weir/internal/text"
)

// Figure is what is drawn: panels with the same axes, below a title and above a legend.
type Figure struct {
	Title  string
	Note   string // below the title: how many runs, what the intervals are
	X, Y   Axis
	Panels []Panel
	Names  []string      // of the series, which the legend has in this order
	Extra  []LegendEntry // what the legend has behind them
	Legend LegendPosition
	Size   Size
	Across int      // panels beside each other; 0: as many as there is room for
	Bar    *Axis    // of a heat map: its colours
	Does   []string // what rows do, in the order of its colours, up to MostDone; the axis Y has no words of its own then
}

// Axis is how values are shown along one side of a figure.
type Axis struct {
	Label    string
	Log      bool
	Min, Max float64   // the range; NaN: by the values
	Ticks    []float64 // nil: chosen
	Count    int       // of ticks, about; 0: as many as there is room for
	Words    []string  // of places 0, 1, 2, … of an axis without numbers
	At       []float64 // values of a sweep, which are the ticks if there is room for them
	Zero     bool      // it begins at 0
	Top      float64   // a value that the range does not pass by a margin: shares end at 1; 0: none
}

// Auto is an axis whose range the values decide.
func Auto(label string) Axis { return Axis{Label: label, Min: math.NaN(), Max: math.NaN()} }

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

// Rows are what several things do over time, one below the other.
type Rows struct {
	Names []string // of the rows, from above
	Spans []Span   // in the order of rows, and of time
}

// Span is a part of a row, in which it does the thing of that number (Figure.Does).
type Span struct {
	Row, Does int
	From, To  float64
}

// LegendEntry is an entry of the legend that belongs to no series.
type LegendEntry struct {
	Name string
	Form Form
	Dash Dash
	// Series is the number of a style; −1: ink
	Series int
}

// LegendPosition is the position of a legend, inside or outside the axes.
type LegendPosition string

// Places of legends. Best is a corner without values, or else below.
const (
	Below       LegendPosition = "below"
	Above       LegendPosition = "above"
	Right       LegendPosition = "right"
	TopLeft     LegendPosition = "top_left"
	TopRight    LegendPosition = "top_right"
	BottomLeft  LegendPosition = "bottom_left"
	BottomRight LegendPosition = "bottom_right"
	Best        LegendPosition = "best"
	NoLegend    LegendPosition = "none"
)

// Size is that of a figure, and of its text, in points.
type Size struct {
	Width, Height float64 // Height 0: what the panels want
	Text          float64 // of labels and the legend; ticks are a little smaller
	Grow          bool    // it may be wider, for the sake of many words on an axis
}

// LeastText is the smallest text of a printed figure, in points.
const LeastText = 7

// Screen is the size of a report's figures: at the width of a phone their text can still be read.
func Screen() Size { return Size{Width: 340, Text: 11.5, Grow: true} }

// Print is the size of a printed figure. The columns of journals have 89 mm, and their pages 183 mm.
func Print(width float64) Size { return Size{Width: width, Text: 8} }

// Limits of what a reader can distinguish.
const (
	MostSeries = 16 // series of a panel, each with a colour and a marker of its own
	MostDone   = 4  // things that rows do
)

// Drawer draws figures. Package draw has one.
type Drawer interface {
	// Draw returns a figure in one of the Formats.
	Draw(f *Figure, format string) ([]byte, error)
	// Matplotlib returns a script that draws the figure by its CSV, a file of the name data next to the script.
	Matplotlib(f *Figure, data string) ([]byte, error)
	// Gnuplot returns a script for gnuplot that writes an SVG of the name into.
	Gnuplot(f *Figure, data, into string) ([]byte, error)
}

// Drawing is the place of the Drawer, which an import links in.
var Drawing = linked.New[Drawer]("the drawing of figures", "weir/app/figure")

// Formats are those that a figure can be written in.
func Formats() []string { return []string{"svg", "pdf", "png"} }

// Write draws the figure in one of the Formats.
func (f *Figure) Write(format string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Draw(f, format)
}

// Matplotlib returns a script that draws the figure by its CSV, which it finds next to itself under the name data.
func (f *Figure) Matplotlib(data string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Matplotlib(f, data)
}

// Gnuplot returns such a script for gnuplot, which writes an SVG of the name into.
func (f *Figure) Gnuplot(data, into string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Gnuplot(f, data, into)
}

// Shown returns a copy of the figure whose texts cannot act on a terminal.
func (f *Figure) Shown() *Figure {
	shown := *f
	f = &shown
	f.Title, f.Note = text.Lines(f.Title), text.Lines(f.Note)
	axis := func(a Axis) Axis {
		a.Label, a.Words = text.Shown(a.Label), shownAll(a.Words)
		return a
	}
	f.X, f.Y, f.Names, f.Does = axis(f.X), axis(f.Y), shownAll(f.Names), shownAll(f.Does)
	if f.Bar != nil {
		bar := axis(*f.Bar)
		f.Bar = &bar
	}
	f.Panels = append([]Panel{}, f.Panels...)
	for i := range f.Panels {
		f.Panels[i].Title = text.Shown(f.Panels[i].Title)
		if r := f.Panels[i].Rows; r != nil {
			f.Panels[i].Rows = &Rows{shownAll(r.Names), r.Spans}
		}
	}
	return f
}

func shownAll(all []string) []string {
	if all == nil {
		return nil
	}
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = text.Shown(s)
	}
	return out
}
