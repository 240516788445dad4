package draw

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"weir/internal/text"
)

// Fonts of an SVG. Liberation Sans has the widths of Arial and Helvetica. A viewer without these takes another font,
// such as DejaVu Sans, which is wider.
const (
	drawnFont = "font-family:Liberation Sans;"
	namedFont = "font-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif;"
)

// roomForFonts is how much room a text of an SVG has, over its width in Liberation Sans.
const roomForFonts = 1.15

// ScreenWidth is the room that a text of an SVG needs: 15 % more than in Liberation Sans, and at least its width in
// DejaVu Sans.
func ScreenWidth(s string, size vg.Length) vg.Length {
	return max(roomForFonts*width(s, size), dejavuWidth(s, size))
}

// svgCanvas draws an SVG and records where its texts are anchored.
type svgCanvas struct {
	*vgsvg.Canvas
	anchor draw.XAlignment // of the texts that follow
	texts  []svgText
}

// svgText is a text of an SVG.
type svgText struct {
	width  vg.Length // in Liberation Sans
	anchor draw.XAlignment
}

// anchorTexts sets how the texts that follow are aligned.
func (c *svgCanvas) anchorTexts(at draw.XAlignment) { c.anchor = at }

// FillString is vg.Canvas's.
func (c *svgCanvas) FillString(f font.Face, at vg.Point, s string) {
	c.texts = append(c.texts, svgText{width(s, f.Font.Size), c.anchor})
	c.Canvas.FillString(f, at, s)
}

// textStart is the beginning of a text as vgsvg writes it: x is its left end.
var textStart = regexp.MustCompile(`<text x="([^"]*)" `)

// writeSVG draws a sheet. Every text has the length that it has in Liberation Sans, so that a viewer that takes a wider
// font narrows it, and is anchored where it is aligned, for viewers that do not.
func (s *sheet) writeSVG() ([]byte, error) {
	c := &svgCanvas{Canvas: vgsvg.New(s.width, s.height)}
	s.on(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	n, wrong := 0, error(nil)
	out := textStart.ReplaceAllStringFunc(b.String(), func(start string) string {
		x, err := strconv.ParseFloat(textStart.FindStringSubmatch(start)[1], 64)
		if err != nil || n >= len(c.texts) {
			wrong = fmt.Errorf("the SVG has a text that was not drawn: %s", start)
			return start
		}
		t := c.texts[n]
		n++
		anchor := ""
		switch t.anchor {
		case draw.XCenter:
			x, anchor = x+t.width.Points()/2, ` text-anchor="middle"`
		case draw.XRight:
			x, anchor = x+t.width.Points(), ` text-anchor="end"`
		}
		return fmt.Sprintf(`<text x="%.5g"%s textLength="%.5g" lengthAdjust="spacingAndGlyphs" `, x, anchor, t.width.Points())
	})
	return []byte(text.Lines(strings.ReplaceAll(out, drawnFont, namedFont))), wrong
}
