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

// Fonts of an SVG. Liberation Sans has the widths of Arial and Helvetica. A viewer without these uses another font,
// such as DejaVu Sans, which is wider.
const (
	drawnFont = "font-family:Liberation Sans;"
	namedFont = "font-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif;"
)

// roomForFonts is the width reserved for a text of an SVG, as a factor of its width in Liberation Sans.
const roomForFonts = 1.15

// ScreenWidth returns the width to reserve for a text of an SVG: 15 % more than in Liberation Sans, and at least its
// width in DejaVu Sans.
func ScreenWidth(s string, size vg.Length) vg.Length {
	return max(roomForFonts*textWidth(s, size), dejavuWidth(s, size))
}

// svgCanvas draws an SVG and records the width and alignment of its texts.
type svgCanvas struct {
	*vgsvg.Canvas
	anchor draw.XAlignment // alignment of the following texts
	texts  []svgText
}

// svgText is the width and alignment of one text.
type svgText struct {
	width  vg.Length // in Liberation Sans
	anchor draw.XAlignment
}

// anchorTexts sets the alignment of the following texts.
func (c *svgCanvas) anchorTexts(alignment draw.XAlignment) { c.anchor = alignment }

// FillString implements vg.Canvas.
func (c *svgCanvas) FillString(f font.Face, at vg.Point, s string) {
	c.texts = append(c.texts, svgText{textWidth(s, f.Font.Size), c.anchor})
	c.Canvas.FillString(f, at, s)
}

// textStart matches the beginning of a text in vgsvg's output; x is its left end.
var textStart = regexp.MustCompile(`<text x="([^"]*)" `)

// writeSVG returns the sheet as an SVG. Each text gets the length that it has in Liberation Sans, so that a viewer with
// a wider font compresses it. It also gets an anchor at its alignment for viewers that ignore the length. Characters
// that would act on a terminal are escaped.
func (s *sheet) writeSVG() ([]byte, error) {
	c := &svgCanvas{Canvas: vgsvg.New(s.width, s.height)}
	s.drawOn(c)
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
	return []byte(text.EscapeLines(strings.ReplaceAll(out, drawnFont, namedFont))), wrong
}
