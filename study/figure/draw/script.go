package draw

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir/internal/text"
	"weir/study/figure"
)

// script is the data of a script apart from the figure's numbers.
type script struct {
	Data   string        `json:"data"`
	Title  string        `json:"title"`
	Size   [2]float64    `json:"size_inches"`
	X      scriptAxis    `json:"x"`
	Y      scriptAxis    `json:"y"`
	Bar    *scriptAxis   `json:"colours"`
	Panels []scriptPanel `json:"panels"`
	Across int           `json:"across"`
	Does   []scriptState `json:"does"`
}

// scriptState is a state of rows.
type scriptState struct {
	Name   string `json:"name"`
	Colour string `json:"colour"`
}

// scriptAxis is an axis with its ticks.
type scriptAxis struct {
	Label string     `json:"label"`
	Log   bool       `json:"log"`
	Range [2]float64 `json:"range"`
	Words []string   `json:"words"`
	// Ticks are values; Labels are their labels.
	Ticks  []float64 `json:"ticks"`
	Labels []string  `json:"labels"`
}

// newScriptAxis returns an axis with the scale's range and the given ticks.
func newScriptAxis(label string, s *scale, words []string, ticks []tick) scriptAxis {
	a := scriptAxis{Label: label, Log: s.log, Range: [2]float64{s.low, s.high}, Words: words, Ticks: []float64{},
		Labels: []string{}}
	for _, t := range ticks {
		a.Ticks, a.Labels = append(a.Ticks, t.value), append(a.Labels, t.label)
	}
	return a
}

// scriptPanel is a panel with its marks.
type scriptPanel struct {
	Title string       `json:"title"`
	Marks []scriptMark `json:"marks"`
	Heat  bool         `json:"heat"`
	// Rows are the names of the rows, from the top.
	Rows []string `json:"rows"`
	// Paper reports whether the panel has reference values.
	Paper bool `json:"paper"`
}

// scriptMark is a mark: the series' name, form, style, and its offset and width within a place.
type scriptMark struct {
	Series  string  `json:"series"`
	ShownAs string  `json:"shown_as"`
	Colour  string  `json:"colour"`
	Number  int     `json:"number"`
	Shift   float64 `json:"shift"`
	Width   float64 `json:"width"`
	Errors  bool    `json:"errors"`
	Band    bool    `json:"band"`
	Plain   bool    `json:"plain"`
}

// newScript arranges the figure and collects the data of a script that reads the numbers from the file data. It does
// not change f. Errors are as in Draw.
func newScript(f *figure.Figure, data string) (*script, error) {
	f = f.Sanitized()
	s, err := arrangeFigure(f, textWidth)
	if err != nil {
		return nil, err
	}
	out := &script{Data: data, Title: f.Title, Size: [2]float64{s.width.Points() / 72, s.height.Points() / 72},
		X:      newScriptAxis(f.X.Label, &s.x, f.X.Words, s.xTicks),
		Y:      newScriptAxis(f.Y.Label, &s.y, s.Figure.Y.Words, s.yTicks),
		Across: s.across, Panels: []scriptPanel{}, Does: []scriptState{}}
	for i, name := range f.States {
		c := stateColours[i]
		out.Does = append(out.Does, scriptState{text.EscapeCell(name), fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)})
	}
	if f.ColourAxis != nil {
		b := s.barScale()
		bar := newScriptAxis(f.ColourAxis.Label, &b, nil, nil)
		out.Bar = &bar
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		q := scriptPanel{Title: text.EscapeCell(p.Title), Marks: []scriptMark{}, Heat: p.Heat != nil,
			Paper: p.Heat != nil && p.Heat.Reference != nil}
		if p.Rows != nil {
			q.Rows = p.Rows.Names
		}
		slots := slotsOf(p)
		for k := range p.Marks {
			m := &p.Marks[k]
			by, wide := slotOffset(slots, m.Series)
			r, g, b, _ := seriesColour(m.Series).RGBA()
			q.Marks = append(q.Marks, scriptMark{text.EscapeCell(f.SeriesName(m)), m.Form.String(),
				fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8), m.Series, by, wide, m.Low != nil, m.Band, m.SparseMarkers})
		}
		out.Panels = append(out.Panels, q)
	}
	return out, nil
}

//go:embed plot.py
var pythonTemplate string

// Matplotlib returns a Python script that draws the figure from the CSV file data (Figure.CSV) next to it.
func (Drawer) Matplotlib(f *figure.Figure, data string) ([]byte, error) {
	s, err := newScript(f, data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	literal := strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(strings.TrimSpace(b.String()))
	return []byte(strings.Replace(pythonTemplate, "{}", literal, 1)), nil
}

// quoteGnuplot returns s as a gnuplot string; a line break becomes a space.
func quoteGnuplot(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "\n", " ") + "'"
}

// Gnuplot returns a gnuplot script that reads the CSV file data and writes an SVG to the file into. data is the output
// of Figure.CSV.
func (Drawer) Gnuplot(f *figure.Figure, data, into string) ([]byte, error) {
	s, err := newScript(f, data)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Draws the numbers beside it, as weir plot --data has left them, into %s", text.EscapeLine(into))
	line("set terminal svg size %.0f,%.0f font 'Liberation Sans,11' background '#ffffff'", 134*s.Size[0], 134*s.Size[1])
	line("set output %s\nset datafile separator ','\nset encoding utf8\nset termoption noenhanced", quoteGnuplot(into))
	line("set key outside below noenhanced\nset grid lc rgb '#e1e1e1'\nset style fill solid 0.55 border")
	line("set tics nomirror\nset border 3")
	axis := func(name string, a scriptAxis) {
		if a.Log {
			line("set logscale %s", name)
		}
		if len(a.Ticks) > 0 {
			var ticks []string
			for i, v := range a.Ticks {
				ticks = append(ticks, fmt.Sprintf("%s %g", quoteGnuplot(strings.ReplaceAll(a.Labels[i], "%", "%%")), v))
			}
			line("set %stics (%s)", name, strings.Join(ticks, ", "))
		}
		line("set %srange [%g:%g]\nset %slabel %s", name, a.Range[0], a.Range[1], name, quoteGnuplot(a.Label))
	}
	axis("x", s.X)
	axis("y", s.Y)
	if s.Bar != nil {
		axis("cb", *s.Bar)
		var colours []string
		for i, c := range heatColours {
			colours = append(colours, fmt.Sprintf("%d '#%02x%02x%02x'", i, c.R, c.G, c.B))
		}
		line("unset key\nset palette defined (%s)", strings.Join(colours, ", "))
	}
	down := (len(s.Panels) + s.Across - 1) / s.Across
	line("set multiplot layout %d,%d title %s noenhanced", down, s.Across, quoteGnuplot(s.Title))
	for _, p := range s.Panels {
		line("set title %s", quoteGnuplot(p.Title))
		if p.Rows != nil {
			var ticks []string
			for k, name := range p.Rows {
				ticks = append(ticks, fmt.Sprintf("%s %d", quoteGnuplot(strings.ReplaceAll(name, "%", "%%")), len(s.Y.Words)-1-k))
			}
			line("set ytics (%s)", strings.Join(ticks, ", "))
		}
		b.WriteString("plot " + strings.Join(p.plotParts(s), ", \\\n  ") + "\n")
	}
	line("unset multiplot")
	return []byte(b.String()), nil
}

// plotParts returns the panel's elements of the plot command; at least one.
func (p *scriptPanel) plotParts(s *script) (parts []string) {
	from := quoteGnuplot(s.Data)
	if p.Rows != nil {
		for _, d := range s.Does {
			is := fmt.Sprintf("strcol(1) eq %s && strcol(2) eq %s", quoteGnuplot(p.Title), quoteGnuplot(d.Name))
			y := fmt.Sprintf("(%d-$12)", len(s.Y.Words)-1)
			parts = append(parts, fmt.Sprintf("%s using (%s ? $5 : NaN):%s:5:8:(%s-0.4):(%s+0.4) with boxxyerror "+
				"fs solid 1 noborder lc rgb %s title %s", from, is, y, y, y, quoteGnuplot(d.Colour), quoteGnuplot(d.Name)))
		}
		return parts
	}
	if p.Heat {
		plot := func(shown, columns, with string) string {
			return fmt.Sprintf("%s using (strcol(1) eq %s && strcol(3) eq '%s' ? $5 : NaN):%s with %s", from,
				quoteGnuplot(p.Title), shown, columns, with)
		}
		parts = []string{plot("heat", "12:6", "points pt 5 ps 2.5 palette")}
		if p.Paper {
			parts = append(parts, plot(figure.Crosses.String(), "12", "points pt 2 lc black"),
				plot(figure.Crosses.String(), "12:(sprintf('%.3g', $6))", "labels offset 0,-0.8"))
		}
		return parts
	}
	var plotted []string
	for _, m := range p.Marks {
		id := m.Series + "\x00" + m.ShownAs
		if slices.Contains(plotted, id) { // mark of another world: it reads the same rows
			continue
		}
		plotted = append(plotted, id)
		x := fmt.Sprintf("(strcol(1) eq %s && strcol(2) eq %s && strcol(3) eq %s ? $5+%g : NaN)", quoteGnuplot(p.Title),
			quoteGnuplot(m.Series), quoteGnuplot(m.ShownAs), m.Shift*boolToFloat(len(s.X.Words) > 0))
		title, look := quoteGnuplot(m.Series), fmt.Sprintf("lc rgb %s", quoteGnuplot(m.Colour))
		if m.ShownAs == figure.Crosses.String() {
			title = quoteGnuplot(strings.TrimSpace(m.Series + " (paper)"))
		}
		add := func(columns, with string) {
			parts = append(parts, fmt.Sprintf("%s using %s:%s with %s %s title %s", from, x, columns, with, look, title))
			title = "''"
		}
		marker := fmt.Sprintf(" pt %d dt %d", max(m.Number, 0)%13+4, max(m.Number, 0)%4+1)
		if m.Band {
			add("7:8", "filledcurves fs transparent solid 0.2 noborder")
		}
		switch m.ShownAs {
		case figure.Bars.String():
			add(fmt.Sprintf("6:(%g)", m.Width*0.9), "boxes")
		case figure.Boxes.String():
			add(fmt.Sprintf("9:7:8:11:(%g)", m.Width*0.8), "candlesticks whiskerbars")
			add(fmt.Sprintf("10:10:10:10:(%g)", m.Width*0.8), "candlesticks lw 2")
		case figure.Steps.String(), figure.Area.String():
			add("6", "steps lw 1.4")
		case figure.Points.String():
			add("6", "points"+strings.Split(marker, " dt")[0])
		case figure.Crosses.String():
			add("6", "points pt 2")
		default:
			if m.Plain {
				add("6", "lines"+" dt "+strings.Split(marker, " dt ")[1])
			} else {
				add("6", "linespoints"+marker)
			}
		}
		if m.Errors && !m.Band {
			add("6:7:8", "yerrorbars pt 0")
		}
	}
	if len(parts) == 0 {
		parts = []string{"NaN notitle"}
	}
	return parts
}

// boolToFloat returns 1 for true and 0 for false.
func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
