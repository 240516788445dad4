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

// sheet is a figure whose parts have their places. Lengths are from the left and from the top.
type sheet struct {
	*figure.Figure
	sheetTexts
	panelGrid
	text, small   vg.Length // sizes of text
	width, height vg.Length
	x, y          scale // of a panel, from its left and from its upper edge
	xTicks        []tick
	yTicks        []tick
	tilt          float64 // of the words of the x axis, in radians
	broken        [][]string
	barWide       vg.Length // of the colours with all that belongs to them
	key           *legend
	outside       int       // values that the ranges leave out
	skipped       int       // of so many words one is shown; 0: all
	room          widthFunc // the room that a text needs
}

// sheetTexts are the texts of a sheet, in lines.
type sheetTexts struct {
	title, note []string
	xLabel      []string // of the axes, and of the colours
	yLabel      []string
	barLabel    []string
	headings    [][]string // titles of the panels
}

// panelGrid is the place of the panels on a sheet.
type panelGrid struct {
	across, down int
	panel        vg.Rectangle // size of one, Min is the upper left corner of the first
	gapX, gapY   vg.Length
	bottom       vg.Length // below the last row of panels, to the legend
}

// em is the sheet's unit of distance.
func (s *sheet) em(n float64) vg.Length { return vg.Length(n) * s.text }

// wide is the width of a text in one line.
func (s *sheet) wide(text string, size vg.Length) vg.Length {
	return s.room(text, size)
}

// widthFunc returns the room that a text of a size needs in one line.
type widthFunc func(text string, size vg.Length) vg.Length

// arrange gives a figure's parts their places.
func arrange(f *figure.Figure, room widthFunc) (*sheet, error) {
	if err := check(f); err != nil {
		return nil, err
	}
	if hasRows(f) {
		shown := *f
		f = &shown
		nameRows(f)
		f.Across = 1
	}
	s := &sheet{Figure: f, text: vg.Length(f.Size.Text), width: vg.Length(f.Size.Width), room: room}
	s.small = s.text * 0.92
	if f.Size.Text >= figure.LeastText {
		s.small = max(s.small, figure.LeastText)
	}
	spanX, spanY, n := s.spans()
	if n == 0 {
		return nil, errEmpty
	}
	s.ranges(spanX, spanY)
	s.outsiders()
	s.grid()
	s.gapX, s.gapY = s.em(1.1), s.em(0.9)
	place := s.Legend
	if place == "" {
		place = figure.Below
	}
	for {
		s.heading()
		s.key = s.legend(place)
		for range 6 { // ticks need the panels' size, which needs the ticks' widths
			err := s.fit()
			if err != nil && s.Across == 0 && s.across > 1 {
				s.across, err = s.across-1, nil // what stands beside them takes much
				s.down = (len(s.Panels) + s.across - 1) / s.across
				err = s.fit()
			}
			if err != nil {
				return nil, err
			}
		}
		s.dropCutLabels()
		wider := s.width * vg.Length(s.skipped)
		switch {
		case place == figure.Best:
			place = s.emptiest()
		case isCorner(place) && (s.key.width+s.em(1.2) > s.panel.Size().X || s.key.height+s.em(1.2) > s.panel.Size().Y):
			place = figure.Below // it would not fit
		case s.skipped > 1 && s.Size.Grow && wider < vg.Length(100*s.Size.Width):
			s.width, s.skipped = min(wider, s.width+s.small*1.1*vg.Length(len(s.X.Words))), 0
		default:
			return s, nil
		}
	}
}

// dropCutLabels leaves out labels of ticks that would leave the figure: a narrow one may have no margin that fits all.
func (s *sheet) dropCutLabels() {
	if s.tilt > 0 || s.broken != nil {
		return
	}
	first, size := s.panel.Min.X, s.panel.Size().X+s.gapX
	for i, t := range s.xTicks {
		at, half := s.x.at(t.value), s.wide(t.label, s.small)/2
		if first+at < half || first+vg.Length(s.across-1)*size+at+half > s.width {
			s.xTicks[i].label = ""
		}
	}
}

// spans are the values of all panels, whose number is n.
func (s *sheet) spans() (x, y span, n int) {
	x, y = newSpan(), newSpan()
	for i := range s.Panels {
		p := &s.Panels[i]
		for k := range p.Marks {
			eachValue(&p.Marks[k], func(at, low, v, high float64) {
				if s.X.Log && at <= 0 || s.Y.Log && v <= 0 {
					return
				}
				n++
				x.add(at, at, at)
				y.add(low, v, high)
			})
		}
		if r := p.Rows; r != nil {
			for _, v := range r.Spans {
				n++
				x.add(v.From, v.From, v.To)
			}
		}
		if h := p.Heat; h != nil {
			for _, v := range slices.Concat(h.Values, h.Paper) {
				if !math.IsNaN(v) {
					n++
				}
			}
			for _, e := range h.Edges {
				x.add(e, e, e)
			}
		}
	}
	return x, y, n
}

// ranges sets the axes' ranges.
func (s *sheet) ranges(x, y span) {
	marginX, marginY := 0.0, 0.04
	heat := false
	for i := range s.Panels {
		heat = heat || s.Panels[i].Heat != nil
		for k := range s.Panels[i].Marks {
			if m := &s.Panels[i].Marks[k]; m.Form != figure.Steps && m.Form != figure.Area && !m.Plain {
				marginX = 0.03
			}
		}
	}
	s.x.low, s.x.high = axis{&s.X}.bounds(x, marginX)
	s.y.low, s.y.high = axis{&s.Y}.bounds(y, marginY)
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

// outsiders counts the values that given ranges leave out, for the note to say so.
func (s *sheet) outsiders() {
	for i := range s.Panels {
		for k := range s.Panels[i].Marks {
			eachValue(&s.Panels[i].Marks[k], func(at, _, v, _ float64) {
				if s.X.Words == nil && !s.x.inside(at) || !s.y.inside(v) {
					s.outside++
				}
			})
		}
	}
}

// grid says how many panels stand beside each other.
func (s *sheet) grid() {
	n := len(s.Panels)
	s.across = s.Across
	if s.across == 0 {
		s.across = max(1, int(s.width/s.em(14)))
		if n == 2 || n == 4 {
			s.across = min(s.across, 2)
		}
	}
	s.across = min(s.across, n)
	s.down = (n + s.across - 1) / s.across
}

// heading breaks title and note into lines.
func (s *sheet) heading() {
	room := s.width - s.em(0.6)
	s.title, s.note = nil, nil
	for _, line := range strings.Split(s.Title, "\n") {
		if line != "" {
			s.title = append(s.title, s.wrap(line, room, s.text)...)
		}
	}
	note := s.Note
	add := func(words string) {
		if note != "" {
			note += "; "
		}
		note += words
	}
	if s.outside > 0 {
		add(text.Count(s.outside, "value") + " outside of the axes")
	}
	if s.narrow() {
		add("where parts are too narrow, each place shows what most of it is")
	}
	if s.skipped > 1 {
		add(fmt.Sprintf("of %d places one in %d is named", len(s.X.Words), s.skipped))
	}
	for _, line := range strings.Split(note, "\n") {
		if line != "" {
			s.note = append(s.note, s.wrap(line, room, s.small)...)
		}
	}
}

// wrap breaks a text where it is wider than room, in words and, if need be, within them.
func (s *sheet) wrap(line string, room, size vg.Length) (out []string) {
	now := ""
	for _, word := range strings.SplitAfter(line, " ") {
		if now != "" && s.wide(strings.TrimRight(now+word, " "), size) > room {
			out, now = append(out, strings.TrimRight(now, " ")), ""
		}
		for s.wide(strings.TrimRight(word, " "), size) > room {
			n := 0
			for i := range word {
				if i > 0 && s.wide(word[:i], size) > room {
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

// fit gives panels and ticks their places, as far as what was known before goes.
func (s *sheet) fit() error {
	head := s.em(0.35) + vg.Length(len(s.title))*s.em(1.3) + vg.Length(len(s.note))*s.small*1.3
	if len(s.title)+len(s.note) > 0 {
		head += s.em(0.5)
	}
	if s.key.place == figure.Above {
		head += s.key.height + s.em(0.6)
	}
	across, down := vg.Length(s.across), vg.Length(s.down)
	high := s.panel.Size().Y
	beside := vg.Length(0) // of all rows; not known yet
	if high > 0 {
		beside = down*high + (down-1)*s.gapY
	}
	s.yLabel = s.sideways(s.Figure.Y.Label, beside)
	left, right := s.margins()
	wide := (s.width - left - right - (across-1)*s.gapX) / across
	if wide < s.em(3) {
		return fmt.Errorf("%s beside each other have no room in a width of %.0f mm", text.Count(s.across, "panel"),
			s.width.Points()/vg.Millimeter.Points())
	}
	head += s.panelTitles(wide)
	s.x.from, s.x.to = 0, wide
	s.xAxis(wide)
	s.apart(wide)
	s.xLabel = nil
	if s.X.Label != "" {
		s.xLabel = s.wrap(s.X.Label, s.width-s.em(0.6), s.text)
	}
	s.bottom = s.belowPanels()
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
		high = max(high, min(vg.Length(len(s.Y.Words))*s.small*1.2, 6*wide))
	}
	if hasRows(s.Figure) && s.Size.Height == 0 {
		high = max(vg.Length(len(s.Figure.Y.Words))*s.small*1.35, s.em(3))
	}
	if s.Size.Height == 0 { // two lines of a label that stands upright
		upright := s.wide(s.Figure.Y.Label, s.text)
		if s.Bar != nil {
			upright = max(upright, s.wide(s.Bar.Label, s.text))
		}
		if upright > down*high {
			high = max(high, min(upright*0.55, s.width*2)/down)
		}
	}
	if high < s.em(2.5) {
		return fmt.Errorf("%s below each other have no room in a height of %.0f mm", text.Count(s.down, "panel"),
			s.Size.Height/vg.Millimeter.Points())
	}
	s.panel = vg.Rectangle{Min: vg.Point{X: left, Y: head}, Max: vg.Point{X: left + wide, Y: head + high}}
	s.y.from, s.y.to = high, 0
	s.height = head + down*high + (down-1)*s.gapY + foot
	if s.key.place == figure.Right {
		s.height = max(s.height, head+s.key.height+s.em(0.5))
	}
	s.yTicks = axis{&s.Y}.ticks(&s.y, rule{s.small * 0.35, func(string) vg.Length { return s.small }})
	if s.Y.Words != nil {
		r := rule{0, func(string) vg.Length { return s.small }}
		s.yTicks = r.thin(&s.y, s.yTicks)
	}
	return nil
}

// sideways breaks a label that stands upright beside panels of so much height; one that is not known yet has room for
// all.
func (s *sheet) sideways(label string, high vg.Length) []string {
	switch {
	case label == "":
		return nil
	case high <= 0:
		return []string{label}
	}
	return s.wrap(label, high+s.em(0.9), s.text)
}

// panelTitles breaks the panels' titles into lines of their width, and returns what they take above the first row.
func (s *sheet) panelTitles(wide vg.Length) (head vg.Length) {
	s.headings, s.gapY = nil, s.em(0.9)
	most := 0
	for i := range s.Panels {
		var lines []string
		if t := s.Panels[i].Title; t != "" {
			lines = s.wrap(t, wide+min(s.gapX-s.em(0.4), s.em(0.5)), s.small) // the last one has a margin of 0.6 em
		}
		s.headings, most = append(s.headings, lines), max(most, len(lines))
	}
	if most > 0 {
		head = s.em(0.4) + vg.Length(most)*s.small*1.1
		s.gapY = s.em(0.9) + vg.Length(most)*s.small*1.1
	}
	return head
}

// apart widens the gap between panels beside each other until the last label of one does not run into the first one of
// the next.
func (s *sheet) apart(wide vg.Length) {
	s.gapX = max(s.gapX, s.em(1.1))
	if s.across < 2 || s.tilt > 0 || s.broken != nil || len(s.xTicks) == 0 {
		return
	}
	over, under := vg.Length(0), vg.Length(0)
	for _, t := range s.xTicks {
		if t.label != "" {
			w, at := s.wide(t.label, s.small)/2, s.x.at(t.value)
			over, under = max(over, at+w-wide), max(under, w-at)
		}
	}
	s.gapX = max(s.gapX, over+under+s.small*0.6)
}

// margins are what stands beside the panels.
func (s *sheet) margins() (left, right vg.Length) {
	left = s.em(0.3)
	left += s.em(1.4 * float64(len(s.yLabel)))
	most := s.em(1.5)
	for i, t := range s.yTicks {
		if i == 0 {
			most = 0
		}
		most = max(most, s.wide(t.label, s.small))
	}
	left += most + s.em(0.55)
	right = s.em(0.6)
	if wide := s.x.to; wide > 0 { // labels that reach beyond the axis
		for _, t := range s.xTicks {
			w, at := s.wide(t.label, s.small), s.x.at(t.value)
			switch {
			case t.label == "":
			case s.tilt > 0:
				left = max(left, w*vg.Length(math.Cos(s.tilt))-at+s.em(0.2))
			case s.broken == nil:
				right = max(right, at+w/2-wide+s.em(0.15))
				left = max(left, w/2-at+s.em(0.15))
			}
		}
	}
	if s.key.place == figure.Right {
		right += s.key.width + s.em(0.8)
	}
	if s.Bar != nil {
		high := s.panel.Size().Y
		if high <= 0 {
			high = s.width / 2
		}
		s.barWide = s.barWidth(vg.Length(s.down)*high + vg.Length(s.down-1)*s.gapY)
		right += s.barWide
	}
	return left, right
}

// xAxis chooses the ticks of the horizontal axis, and how its words stand.
func (s *sheet) xAxis(wide vg.Length) {
	r := rule{s.small * 0.7, func(label string) vg.Length { return s.wide(label, s.small) }}
	s.xTicks = axis{&s.X}.ticks(&s.x, r)
	s.tilt, s.broken, s.skipped = 0, nil, 0
	if s.X.Words == nil {
		return
	}
	slot := s.x.at(1) - s.x.at(0)
	fits := true
	for _, w := range s.X.Words {
		fits = fits && s.wide(w, s.small)+s.small*0.5 <= slot
	}
	if fits {
		return
	}
	if s.breakWords(slot - s.small*0.4) {
		return
	}
	s.tilt = math.Pi / 4.5
	over := vg.Length(0) // how far they reach out on the left
	for i, w := range s.X.Words {
		over = max(over, s.wide(w, s.small)*vg.Length(math.Cos(s.tilt))-s.x.at(float64(i)))
	}
	if slot*vg.Length(math.Sin(s.tilt)) < s.small*1.05 || over > s.width*0.3 {
		s.tilt = math.Pi / 2
	}
	if every := int(math.Ceil(float64(s.small * 1.02 / slot))); every > 1 && s.tilt == math.Pi/2 {
		for i := range s.xTicks {
			if i%every != 0 {
				s.xTicks[i].label = ""
			}
		}
		s.skipped = every
		s.heading()
	}
}

// breakWords puts words of the axis into two or three lines, at spaces and hyphens.
func (s *sheet) breakWords(room vg.Length) bool {
	var all [][]string
	for _, w := range s.X.Words {
		var parts []string
		now := ""
		marked := strings.NewReplacer("-", "-\x00", "_", "_\x00", " ", " \x00").Replace(w)
		for _, part := range strings.SplitAfter(marked, "\x00") {
			part = strings.TrimSuffix(part, "\x00")
			if now != "" && s.wide(strings.TrimRight(now+part, " "), s.small) > room {
				parts, now = append(parts, strings.TrimRight(now, " ")), ""
			}
			now += part
		}
		parts = append(parts, strings.TrimRight(now, " "))
		for _, p := range parts {
			if s.wide(p, s.small) > room {
				return false
			}
		}
		if len(parts) > 3 {
			return false
		}
		all = append(all, parts)
	}
	s.broken = all
	return true
}

// belowPanels is what tick labels and the axis's label need.
func (s *sheet) belowPanels() vg.Length {
	labels := s.small * 1.15
	most := vg.Length(0)
	for _, t := range s.xTicks {
		most = max(most, s.wide(t.label, s.small))
	}
	switch {
	case s.tilt > 0:
		labels = most*vg.Length(math.Sin(s.tilt)) + s.small*vg.Length(math.Cos(s.tilt)) + s.em(0.1)
	case s.broken != nil:
		for _, parts := range s.broken {
			labels = max(labels, vg.Length(len(parts))*s.small*1.15)
		}
	}
	labels += s.em(0.55)
	labels += s.em(1.35 * float64(len(s.xLabel)))
	return labels
}
