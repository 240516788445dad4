package figure

import (
	"math"

	"weir/internal/linked"
	"weir/internal/text"
)

// Figure describes a drawing: panels with the same axes, below a title and next to a legend.
type Figure struct {
	Title        string
	Note         string // below the title: number of runs, meaning of the intervals
	X, Y         Axis
	Panels       []Panel
	Names        []string      // names of the series, in the order of the legend
	ExtraEntries []LegendEntry // legend entries after the series
	Legend       LegendPosition
	Size         Size
	Columns      int      // panels per row; 0: as many as fit
	ColourAxis   *Axis    // colour axis of a heat map
	States       []string // states of rows, up to MaxStates, in the order of their colours; the axis Y has no words then
}

// Axis describes one axis of a figure.
type Axis struct {
	Label       string
	Log         bool
	Min, Max    float64   // the range; NaN: chosen from the values
	Ticks       []float64 // nil: chosen automatically
	Count       int       // approximate number of ticks; 0: as many as fit
	Words       []string  // labels of the places 0, 1, 2, … of an axis without numbers
	SweepValues []float64 // values of a sweep; they become the ticks if they fit
	IncludeZero bool      // the range includes 0
	UpperBound  float64   // upper bound that the margin does not exceed, such as 1 for shares; 0: no bound
}

// NewAutoAxis returns a linear axis with the given label; its range and ticks follow from the values. Use it instead of
// Axis{}, which has the range 0 to 0.
func NewAutoAxis(label string) Axis { return Axis{Label: label, Min: math.NaN(), Max: math.NaN()} }

// Panel is one part of a figure: marks, a heat map or rows.
type Panel struct {
	Title string
	Marks []Mark
	Heat  *Heat
	Rows  *Rows
}

// Form is the shape in which the values of a mark are drawn.
type Form uint8

// Forms of marks. Hollow draws unfilled points. Crosses draws reference values of others.
const (
	Line Form = iota // with point markers if the points are few
	Steps
	Points
	Hollow
	Crosses
	Bars
	Boxes
	Area        // rectangles from each X to the next one, from the axis up to Y
	StateBlocks // legend entries of row states
)

// Mark is one series drawn in one form.
type Mark struct {
	Series        int // index of its style and name; −1: ink
	Form          Form
	X, Y          []float64
	Low, High     []float64 // ends of intervals; nil: no intervals; NaN: this value has no interval
	Band          bool      // draw the intervals as a band
	SparseMarkers bool      // a line with markers at few places only
	Dash          Dash
	Boxes         []Box // for the form Boxes, one per X
	Light         bool  // draw lighter than the other marks
}

// Dash selects the dash pattern of a line.
type Dash uint8

// Dashes of lines: the pattern of the series, a solid line, or the pattern that marks a second world.
const (
	BySeries Dash = iota
	Solid
	Broken
)

// Box summarizes a distribution: whiskers, quartiles and median.
type Box struct{ Low, Q1, Median, Q3, High float64 }

// Heat is a matrix of values. Row 0 is at the bottom.
type Heat struct {
	Rows, Columns int
	Values        []float64 // row by row; NaN: not defined
	Reference     []float64 // reference values of others in the order of Values; nil: not available
	Edges         []float64 // edges of the columns on the X axis; nil: the columns are at 0, 1, 2, …
	Label         func(float64) string
}

// Rows shows the states of several things over time, one row below the other.
type Rows struct {
	Names []string // names of the rows, from the top
	Spans []Span   // ordered by row, then by time
}

// Span is an interval From–To in which row Row is in state State (an index into Figure.States).
type Span struct {
	Row, State int
	From, To   float64
}

// LegendEntry is a legend entry without a series.
type LegendEntry struct {
	Name string
	Form Form
	Dash Dash
	// Series is the index of a style; −1: ink.
	Series int
}

// LegendPosition is the position of the legend, inside or outside of the axes.
type LegendPosition string

// Places of legends. Best selects an empty corner of the first panel, or Below if no corner is empty.
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

// Size is the size of a figure and of its text, in points.
type Size struct {
	Width, Height float64 // Height 0: chosen from the panels
	Text          float64 // size of labels and of the legend; tick labels are a little smaller
	Grow          bool    // the figure may become wider to fit many words on an axis
}

// MinTextSize is the smallest text size of a printed figure, in points.
const MinTextSize = 7

// ScreenSize returns the size of figures in reports, 340 points wide. Their text stays legible at the width of a phone.
func ScreenSize() Size { return Size{Width: 340, Text: 11.5, Grow: true} }

// PrintSize returns the size of a printed figure with the given width in points and text of 8 points. Journal columns
// are 89 mm wide, pages 183 mm.
func PrintSize(width float64) Size { return Size{Width: width, Text: 8} }

// Limits of the styles that a reader can distinguish.
const (
	MaxSeries = 16 // series of a panel, each with its own colour and marker
	MaxStates = 4  // states of rows
)

// Drawer draws figures. Package draw implements it.
type Drawer interface {
	// Draw returns the figure in one of the Formats. It returns an error for a figure without values or without enough
	// space.
	Draw(f *Figure, format string) ([]byte, error)
	// Matplotlib returns a Python script that draws the figure from its CSV, a file named data next to the script.
	Matplotlib(f *Figure, data string) ([]byte, error)
	// Gnuplot returns a gnuplot script that reads the CSV named data and writes an SVG to the file into.
	Gnuplot(f *Figure, data, into string) ([]byte, error)
}

// Drawing holds the linked-in Drawer. An import of weir/app/figure sets it.
var Drawing = linked.New[Drawer]("the drawing of figures", "weir/app/figure")

// Formats returns the file formats that Figure.Render supports.
func Formats() []string { return []string{"svg", "pdf", "png"} }

// Render draws the figure in one of the Formats and returns the file's content. It returns an error if no Drawer is
// linked in, for another format, and for a figure without values or without enough space.
func (f *Figure) Render(format string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Draw(f, format)
}

// MatplotlibScript returns a Python script that draws the figure from its CSV, a file named data next to the script.
// Errors are as in Render.
func (f *Figure) MatplotlibScript(data string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Matplotlib(f, data)
}

// GnuplotScript returns a gnuplot script that reads the CSV named data and writes an SVG to the file into. Errors are
// as in Render.
func (f *Figure) GnuplotScript(data, into string) ([]byte, error) {
	d, err := Drawing.Get()
	if err != nil {
		return nil, err
	}
	return d.Gnuplot(f, data, into)
}

// Sanitized returns a copy of the figure with control characters in its texts made visible, so that they cannot act on
// a terminal. The copy shares values with the figure. Extra legend entries stay unchanged.
func (f *Figure) Sanitized() *Figure {
	shown := *f
	f = &shown
	f.Title, f.Note = text.EscapeLines(f.Title), text.EscapeLines(f.Note)
	axis := func(a Axis) Axis {
		a.Label, a.Words = text.EscapeLine(a.Label), sanitizeAll(a.Words)
		return a
	}
	f.X, f.Y, f.Names, f.States = axis(f.X), axis(f.Y), sanitizeAll(f.Names), sanitizeAll(f.States)
	if f.ColourAxis != nil {
		bar := axis(*f.ColourAxis)
		f.ColourAxis = &bar
	}
	f.Panels = append([]Panel{}, f.Panels...)
	for i := range f.Panels {
		f.Panels[i].Title = text.EscapeLine(f.Panels[i].Title)
		if r := f.Panels[i].Rows; r != nil {
			f.Panels[i].Rows = &Rows{sanitizeAll(r.Names), r.Spans}
		}
	}
	return f
}

// sanitizeAll applies text.EscapeLine to each string. It returns nil for nil.
func sanitizeAll(texts []string) []string {
	if texts == nil {
		return nil
	}
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = text.EscapeLine(s)
	}
	return out
}
