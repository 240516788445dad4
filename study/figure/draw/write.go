package draw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/plot/font"
	words "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"weir/study/figure"
)

// dpi is the resolution of a PNG.
const dpi = 600

// textHandler returns the gonum text handler with the font of all figures.
var textHandler = sync.OnceValue(func() words.Handler {
	return words.Plain{Fonts: font.NewCache(font.Collection{{Font: font.Font{Typeface: "Liberation", Variant: "Sans"},
		Face: typeface()}})}
})

// textStyle returns the text style of a font size.
func textStyle(size vg.Length) words.Style {
	return words.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), Handler: textHandler()}
}

// Drawer implements figure.Drawer with SVG, PDF and PNG.
type Drawer struct{}

// Draw draws the figure in one of figure.Formats and returns the file's content. It does not change f. Equal figures
// give equal bytes.
func (Drawer) Draw(f *figure.Figure, format string) ([]byte, error) {
	room := widthFunc(textWidth)
	if format == "svg" { // a viewer without the font uses another
		room = ScreenWidth
	}
	s, err := arrangeFigure(f.Sanitized(), room)
	if err != nil {
		return nil, err
	}
	switch format {
	case "svg":
		return s.writeSVG()
	case "pdf":
		c := newPDF(s.width, s.height, strings.Join(s.title, " "))
		s.drawOn(c)
		var b bytes.Buffer
		err := c.writeTo(&b)
		return b.Bytes(), err
	case "png":
		if s.width.Dots(dpi)*s.height.Dots(dpi) > maxPixels {
			return nil, fmt.Errorf("as a PNG of %d dpi the figure has %.0f × %.0f pixels; the maximum is %d million pixels", dpi,
				s.width.Dots(dpi), s.height.Dots(dpi), int(maxPixels/1e6))
		}
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(dpi))}
		s.drawOn(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
		return setResolution(b.Bytes()), nil
	}
	return nil, fmt.Errorf("unknown figure format %q; allowed: %s", format, strings.Join(figure.Formats(), ", "))
}

// maxPixels limits the memory of a PNG while it is drawn.
const maxPixels = 200e6

// drawOn draws the sheet on a canvas.
func (s *sheet) drawOn(c vg.CanvasSizer) {
	(&pen{draw.New(c), s}).drawAll()
}

// setResolution returns a PNG with the resolution (chunk pHYs), so that programs know its printed size. The given PNG
// must begin with the chunk IHDR; it is not changed.
func setResolution(png []byte) []byte {
	const head = 8 + 4 + 4 + 13 + 4 // signature, and the chunk IHDR
	perMetre := uint32(math.Round(dpi / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return append(append(append([]byte{}, png[:head]...), chunk...), png[head:]...)
}
