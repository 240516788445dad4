package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"

	"weir/internal/text"
	"weir/study/figure"
)

// sheet is a figure with the positions of its parts. Lengths are from the left and from the top.
type sheet struct {
	*figure.Figure
	sheetTexts
	panelGrid
	textSize, smallSize vg.Length // font sizes
	width, height       vg.Length
	x, y                scale // of a panel, relative to its left and upper edge
	xTicks              []tick
	yTicks              []tick
	wordTilt            float64 // rotation of the x axis's words in radians
	// brokenWords has the words of the x axis broken into lines; nil: unbroken
	brokenWords  [][]string
	barSpace     vg.Length // width of the colour bar with its labels
	key          *legend
	outsideCount int       // values outside of the given ranges
	wordStep     int       // one of wordStep words is shown; 0: all
	measureWidth widthFunc // returns the width to reserve for a text
}

// sheetTexts are the texts of a sheet, broken into lines.
type sheetTexts struct {
	title, note []string
	xLabel      []string // labels of the axes and of the colour bar
	yLabel      []string
	barLabel    []string
	headings    [][]string // titles of the panels
}

// panelGrid is the arrangement of the panels on a sheet.
type panelGrid struct {
	across, down int
	panel        vg.Rectangle // the first panel; all have its size
	gapX, gapY   vg.Length
	bottom       vg.Length // from the last row of panels to the legend
}

// em returns n times the text size, the unit of all distances.
func (s *sheet) em(n float64) vg.Length { return vg.Length(n) * s.textSize }

// widthOf returns the width of a text in one line.
func (s *sheet) widthOf(text string, size vg.Length) vg.Length {
	return s.measureWidth(text, size)
}

// widthFunc returns the width to reserve for a text of a font size in one line.
type widthFunc func(text string, size vg.Length) vg.Length

// arrangeFigure computes the positions of all parts of a figure. It returns an error if the figure is invalid, has no
// values or does not fit. measureWidth returns the width to reserve for a text. It does not change f.
func arrangeFigure(f *figure.Figure, measureWidth widthFunc) (*sheet, error) {
	if err := checkFigure(f); err != nil {
		return nil, err
	}
	if hasRows(f) {
		shown := *f
		f = &shown
		nameRows(f)
		f.Columns = 1
	}
	s := &sheet{Figure: f, textSize: vg.Length(f.Size.Text), width: vg.Length(f.Size.Width), measureWidth: measureWidth}
	s.smallSize = s.textSize * 0.92
	if f.Size.Text >= figure.MinTextSize {
		s.smallSize = max(s.smallSize, figure.MinTextSize)
	}
	spanX, spanY, n := s.valueSpans()
	if n == 0 {
		return nil, errEmpty
	}
	s.setRanges(spanX, spanY)
	s.countOutside()
	s.arrangeGrid()
	s.gapX, s.gapY = s.em(1.1), s.em(0.9)
	place := s.Legend
	if place == "" {
		place = figure.Below
	}
	for {
		s.wrapHeading()
		s.key = s.layoutLegend(place)
		for range 6 { // the ticks depend on the panels' size, which depends on the width of the tick labels
			err := s.fitPanels()
			if err != nil && s.Columns == 0 && s.across > 1 {
				s.across, err = s.across-1, nil // the labels at the side need much space
				s.down = (len(s.Panels) + s.across - 1) / s.across
				err = s.fitPanels()
			}
			if err != nil {
				return nil, err
			}
		}
		s.dropCutLabels()
		wider := s.width * vg.Length(s.wordStep)
		switch {
		case place == figure.Best:
			place = s.emptiestCorner()
		case isCorner(place) && (s.key.width+s.em(1.2) > s.panel.Size().X || s.key.height+s.em(1.2) > s.panel.Size().Y):
			place = figure.Below // the corner is too small
		case s.wordStep > 1 && s.Size.Grow && wider < vg.Length(100*s.Size.Width):
			s.width, s.wordStep = min(wider, s.width+s.smallSize*1.1*vg.Length(len(s.X.Words))), 0
		default:
			return s, nil
		}
	}
}

// dropCutLabels clears labels of x ticks that would extend beyond the figure, as may happen in a narrow one.
func (s *sheet) dropCutLabels() {
	if s.wordTilt > 0 || s.brokenWords != nil {
		return
	}
	first, size := s.panel.Min.X, s.panel.Size().X+s.gapX
	for i, t := range s.xTicks {
		at, half := s.x.position(t.value), s.widthOf(t.label, s.smallSize)/2
		if first+at < half || first+vg.Length(s.across-1)*size+at+half > s.width {
			s.xTicks[i].label = ""
		}
	}
}

// valueSpans returns the ranges of all panels' values and the number n of values. It leaves out values that a
// logarithmic axis cannot show.
func (s *sheet) valueSpans() (x, y span, n int) {
	x, y = newSpan(), newSpan()
	for i := range s.Panels {
		p := &s.Panels[i]
		for k := range p.Marks {
			eachValue(&p.Marks[k], func(at, low, v, high float64) {
				if s.X.Log && at <= 0 || s.Y.Log && v <= 0 {
					return
				}
				n++
				x.include(at, at, at)
				y.include(low, v, high)
			})
		}
		if r := p.Rows; r != nil {
			for _, v := range r.Spans {
				n++
				x.include(v.From, v.From, v.To)
			}
		}
		if h := p.Heat; h != nil {
			for _, v := range slices.Concat(h.Values, h.Reference) {
				if !math.IsNaN(v) {
					n++
				}
			}
			for _, e := range h.Edges {
				x.include(e, e, e)
			}
		}
	}
	return x, y, n
}

// setRanges sets the ranges and kinds of both axes from the spans of the values, or from given ranges.
func (s *sheet) setRanges(x, y span) {
	marginX, marginY := 0.0, 0.04
	heat := false
	for i := range s.Panels {
		heat = heat || s.Panels[i].Heat != nil
		for k := range s.Panels[i].Marks {
			if m := &s.Panels[i].Marks[k]; m.Form != figure.Steps && m.Form != figure.Area && !m.SparseMarkers {
				marginX = 0.03
			}
		}
	}
	s.x.low, s.x.high = axis{&s.X}.chooseRange(x, marginX)
	s.y.low, s.y.high = axis{&s.Y}.chooseRange(y, marginY)
	if heat {
		if s.X.Words != nil {
			s.x.low, s.x.high = -0.5, float64(len(s.X.Words))-0.5
		}
		s.y.low, s.y.high = -0.5, float64(len(s.Y.Words))-0.5
	}
	if hasRows(s.Figure) {
		s.y.low, s.y.high = -0.5, float64(len(s.Figure.Y.Words))-0.5
	}
	s.x.log, s.y.log = s.X.Log && s.X.Words == nil, s.Y.Log
}

// countOutside adds the number of values outside of the given ranges to outsideCount, which the note prints. The ranges
// must be set.
func (s *sheet) countOutside() {
	for i := range s.Panels {
		for k := range s.Panels[i].Marks {
			eachValue(&s.Panels[i].Marks[k], func(at, _, v, _ float64) {
				if s.X.Words == nil && !s.x.contains(at) || !s.y.contains(v) {
					s.outsideCount++
				}
			})
		}
	}
}

// arrangeGrid sets the number of panels per row and the number of rows. The figure's Columns have priority.
func (s *sheet) arrangeGrid() {
	n := len(s.Panels)
	s.across = s.Columns
	if s.across == 0 {
		s.across = max(1, int(s.width/s.em(14)))
		if n == 2 || n == 4 {
			s.across = min(s.across, 2)
		}
	}
	s.across = min(s.across, n)
	s.down = (n + s.across - 1) / s.across
}

// wrapHeading sets title and note, the lines of the figure's Title and Note. It adds to the note what the sheet leaves
// out.
func (s *sheet) wrapHeading() {
	room := s.width - s.em(0.6)
	s.title, s.note = nil, nil
	for _, line := range strings.Split(s.Title, "\n") {
		if line != "" {
			s.title = append(s.title, s.wrapText(line, room, s.textSize)...)
		}
	}
	note := s.Note
	add := func(words string) {
		if note != "" {
			note += "; "
		}
		note += words
	}
	if s.outsideCount > 0 {
		add(text.Count(s.outsideCount, "value") + " outside of the axes")
	}
	if s.hasNarrowSpans() {
		add("where parts are too narrow, each place shows the most frequent activity")
	}
	if s.wordStep > 1 {
		add(fmt.Sprintf("of %d places, one in %d has a label", len(s.X.Words), s.wordStep))
	}
	for _, line := range strings.Split(note, "\n") {
		if line != "" {
			s.note = append(s.note, s.wrapText(line, room, s.smallSize)...)
		}
	}
}

// wrapText breaks a line into lines of at most room, at spaces or, if necessary, within words, in the given font size.
// A line has at least one character; an empty text gives one empty line.
func (s *sheet) wrapText(line string, room, size vg.Length) (out []string) {
	now := ""
	for _, word := range strings.SplitAfter(line, " ") {
		if now != "" && s.widthOf(strings.TrimRight(now+word, " "), size) > room {
			out, now = append(out, strings.TrimRight(now, " ")), ""
		}
		for s.widthOf(strings.TrimRight(word, " "), size) > room {
			n := 0
			for i := range word {
				if i > 0 && s.widthOf(word[:i], size) > room {
					break
				}
				n = i
			}
			if n == 0 {
				_, n = utf8.DecodeRuneInString(word)
				if n == len(word) {
					break
				}
			}
			out, word = append(out, now+word[:n]), word[n:]
			now = ""
		}
		now += word
	}
	return append(out, strings.TrimRight(now, " "))
}

// fitPanels computes the size of the panels, their gaps and ticks from the current estimates. Further calls improve the
// result, since its parts depend on each other. It returns an error if the panels do not fit.
func (s *sheet) fitPanels() error {
	head := s.em(0.35) + vg.Length(len(s.title))*s.em(1.3) + vg.Length(len(s.note))*s.smallSize*1.3
	if len(s.title)+len(s.note) > 0 {
		head += s.em(0.5)
	}
	if s.key.place == figure.Above {
		head += s.key.height + s.em(0.6)
	}
	across, down := vg.Length(s.across), vg.Length(s.down)
	high := s.panel.Size().Y
	rowsHeight := vg.Length(0) // height of all rows; 0 before the first pass
	if high > 0 {
		rowsHeight = down*high + (down-1)*s.gapY
	}
	s.yLabel = s.wrapUpright(s.Figure.Y.Label, rowsHeight)
	left, right := s.sideMargins()
	wide := (s.width - left - right - (across-1)*s.gapX) / across
	if wide < s.em(3) {
		return fmt.Errorf("%s side by side have no room in a width of %.0f mm", text.Count(s.across, "panel"),
			s.width.Points()/vg.Millimeter.Points())
	}
	head += s.wrapPanelTitles(wide)
	s.x.from, s.x.to = 0, wide
	s.arrangeXAxis(wide)
	s.widenGaps(wide)
	s.xLabel = nil
	if s.X.Label != "" {
		s.xLabel = s.wrapText(s.X.Label, s.width-s.em(0.6), s.textSize)
	}
	s.bottom = s.heightBelow()
	foot := s.bottom + s.em(0.3)
	if s.key.place == figure.Below {
		foot += s.key.height + s.em(0.5)
	}
	high = wide * 0.62
	switch {
	case s.Size.Height > 0:
		high = (vg.Length(s.Size.Height) - head - foot - (down-1)*s.gapY) / down
	case s.across > 1:
		high = wide * 0.75
	}
	if s.Panels[0].Heat != nil && s.Size.Height == 0 {
		high = max(high, min(vg.Length(len(s.Y.Words))*s.smallSize*1.2, 6*wide))
	}
	if hasRows(s.Figure) && s.Size.Height == 0 {
		high = max(vg.Length(len(s.Figure.Y.Words))*s.smallSize*1.35, s.em(3))
	}
	if s.Size.Height == 0 { // an upright label may take two lines
		upright := s.widthOf(s.Figure.Y.Label, s.textSize)
		if s.ColourAxis != nil {
			upright = max(upright, s.widthOf(s.ColourAxis.Label, s.textSize))
		}
		if upright > down*high {
			high = max(high, min(upright*0.55, s.width*2)/down)
		}
	}
	if high < s.em(2.5) {
		return fmt.Errorf("%s on top of each other have no room in a height of %.0f mm", text.Count(s.down, "panel"),
			s.Size.Height/vg.Millimeter.Points())
	}
	s.panel = vg.Rectangle{Min: vg.Point{X: left, Y: head}, Max: vg.Point{X: left + wide, Y: head + high}}
	s.y.from, s.y.to = high, 0
	s.height = head + down*high + (down-1)*s.gapY + foot
	if s.key.place == figure.Right {
		s.height = max(s.height, head+s.key.height+s.em(0.5))
	}
	s.yTicks = axis{&s.Y}.chooseTicks(&s.y, labelRule{s.smallSize * 0.35, func(string) vg.Length { return s.smallSize }})
	if s.Y.Words != nil {
		r := labelRule{0, func(string) vg.Length { return s.smallSize }}
		s.yTicks = r.dropOverlaps(&s.y, s.yTicks)
	}
	return nil
}

// wrapUpright breaks the label of an upright axis into lines for panels of the given height. A height of 0 is not
// known yet: the label stays in one line.
func (s *sheet) wrapUpright(label string, high vg.Length) []string {
	switch {
	case label == "":
		return nil
	case high <= 0:
		return []string{label}
	}
	return s.wrapText(label, high+s.em(0.9), s.textSize)
}

// wrapPanelTitles breaks the panels' titles into lines and returns their height above the first row. wide is the width
// of a panel. It sets headings and gapY.
func (s *sheet) wrapPanelTitles(wide vg.Length) (head vg.Length) {
	s.headings, s.gapY = nil, s.em(0.9)
	maxLines := 0
	for i := range s.Panels {
		var lines []string
		if t := s.Panels[i].Title; t != "" {
			lines = s.wrapText(t, wide+min(s.gapX-s.em(0.4), s.em(0.5)), s.smallSize) // the last panel has a margin of 0.6 em
		}
		s.headings, maxLines = append(s.headings, lines), max(maxLines, len(lines))
	}
	if maxLines > 0 {
		head = s.em(0.4) + vg.Length(maxLines)*s.smallSize*1.1
		s.gapY = s.em(0.9) + vg.Length(maxLines)*s.smallSize*1.1
	}
	return head
}

// widenGaps widens gapX, the gap between neighbouring panels, until the last tick label of one does not overlap the
// first one of the next. wide is the width of a panel. It never narrows the gap.
func (s *sheet) widenGaps(wide vg.Length) {
	s.gapX = max(s.gapX, s.em(1.1))
	if s.across < 2 || s.wordTilt > 0 || s.brokenWords != nil || len(s.xTicks) == 0 {
		return
	}
	over, under := vg.Length(0), vg.Length(0)
	for _, t := range s.xTicks {
		if t.label != "" {
			w, at := s.widthOf(t.label, s.smallSize)/2, s.x.position(t.value)
			over, under = max(over, at+w-wide), max(under, w-at)
		}
	}
	s.gapX = max(s.gapX, over+under+s.smallSize*0.6)
}

// sideMargins returns the widths left and right of the panels: labels, ticks, legend and colour bar. It sets barSpace.
func (s *sheet) sideMargins() (left, right vg.Length) {
	left = s.em(0.3)
	left += s.em(1.4 * float64(len(s.yLabel)))
	widest := s.em(1.5)
	for i, t := range s.yTicks {
		if i == 0 {
			widest = 0
		}
		widest = max(widest, s.widthOf(t.label, s.smallSize))
	}
	left += widest + s.em(0.55)
	right = s.em(0.6)
	if wide := s.x.to; wide > 0 { // labels that extend beyond the axis
		for _, t := range s.xTicks {
			w, at := s.widthOf(t.label, s.smallSize), s.x.position(t.value)
			switch {
			case t.label == "":
			case s.wordTilt > 0:
				left = max(left, w*vg.Length(math.Cos(s.wordTilt))-at+s.em(0.2))
			case s.brokenWords == nil:
				right = max(right, at+w/2-wide+s.em(0.15))
				left = max(left, w/2-at+s.em(0.15))
			}
		}
	}
	if s.key.place == figure.Right {
		right += s.key.width + s.em(0.8)
	}
	if s.ColourAxis != nil {
		high := s.panel.Size().Y
		if high <= 0 {
			high = s.width / 2
		}
		s.barSpace = s.barWidth(vg.Length(s.down)*high + vg.Length(s.down-1)*s.gapY)
		right += s.barSpace
	}
	return left, right
}

// arrangeXAxis chooses the ticks of the horizontal axis, and breaks, rotates or skips its words if they do not fit.
// wide is the width of a panel. It sets xTicks, wordTilt, brokenWords and wordStep, and rewrites the note if it skips
// words.
func (s *sheet) arrangeXAxis(wide vg.Length) {
	r := labelRule{s.smallSize * 0.7, func(label string) vg.Length { return s.widthOf(label, s.smallSize) }}
	s.xTicks = axis{&s.X}.chooseTicks(&s.x, r)
	s.wordTilt, s.brokenWords, s.wordStep = 0, nil, 0
	if s.X.Words == nil {
		return
	}
	slot := s.x.position(1) - s.x.position(0)
	fits := true
	for _, w := range s.X.Words {
		fits = fits && s.widthOf(w, s.smallSize)+s.smallSize*0.5 <= slot
	}
	if fits {
		return
	}
	if s.breakWords(slot - s.smallSize*0.4) {
		return
	}
	s.wordTilt = math.Pi / 4.5
	over := vg.Length(0) // how far they extend to the left
	for i, w := range s.X.Words {
		over = max(over, s.widthOf(w, s.smallSize)*vg.Length(math.Cos(s.wordTilt))-s.x.position(float64(i)))
	}
	if slot*vg.Length(math.Sin(s.wordTilt)) < s.smallSize*1.05 || over > s.width*0.3 {
		s.wordTilt = math.Pi / 2
	}
	if every := int(math.Ceil(float64(s.smallSize * 1.02 / slot))); every > 1 && s.wordTilt == math.Pi/2 {
		for i := range s.xTicks {
			if i%every != 0 {
				s.xTicks[i].label = ""
			}
		}
		s.wordStep = every
		s.wrapHeading()
	}
}

// breakWords breaks the words of the axis into up to three lines at spaces, hyphens and underscores. It reports whether
// all fit into room, and only then sets brokenWords.
func (s *sheet) breakWords(room vg.Length) bool {
	var all [][]string
	for _, w := range s.X.Words {
		var parts []string
		now := ""
		marked := strings.NewReplacer("-", "-\x00", "_", "_\x00", " ", " \x00").Replace(w)
		for _, part := range strings.SplitAfter(marked, "\x00") {
			part = strings.TrimSuffix(part, "\x00")
			if now != "" && s.widthOf(strings.TrimRight(now+part, " "), s.smallSize) > room {
				parts, now = append(parts, strings.TrimRight(now, " ")), ""
			}
			now += part
		}
		parts = append(parts, strings.TrimRight(now, " "))
		for _, p := range parts {
			if s.widthOf(p, s.smallSize) > room {
				return false
			}
		}
		if len(parts) > 3 {
			return false
		}
		all = append(all, parts)
	}
	s.brokenWords = all
	return true
}

// heightBelow returns the height of tick labels and axis label below the panels.
func (s *sheet) heightBelow() vg.Length {
	labels := s.smallSize * 1.15
	longest := vg.Length(0)
	for _, t := range s.xTicks {
		longest = max(longest, s.widthOf(t.label, s.smallSize))
	}
	switch {
	case s.wordTilt > 0:
		labels = longest*vg.Length(math.Sin(s.wordTilt)) + s.smallSize*vg.Length(math.Cos(s.wordTilt)) + s.em(0.1)
	case s.brokenWords != nil:
		for _, parts := range s.brokenWords {
			labels = max(labels, vg.Length(len(parts))*s.smallSize*1.15)
		}
	}
	labels += s.em(0.55)
	labels += s.em(1.35 * float64(len(s.xLabel)))
	return labels
}
