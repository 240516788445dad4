package figure

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

	"weir/internal/text"
)

// Formats are those that a figure can be written in.
func Formats() []string { return []string{"svg", "pdf", "png"} }

// DPI is the resolution of a PNG.
const DPI = 600

// handler knows the font of all figures.
var handler = sync.OnceValue(func() words.Handler {
	return words.Plain{Fonts: font.NewCache(font.Collection{{Font: font.Font{Typeface: "Liberation", Variant: "Sans"},
		Face: typeface()}})}
})

func styleOf(size vg.Length) words.Style {
	return words.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), Handler: handler()}
}

// Write draws a figure in one of the Formats.
func (f *Figure) Write(format string) ([]byte, error) {
	shown := *f // what acts on a terminal is escaped in every text
	shown.clean()
	room := widthFunc(width)
	if format == "svg" { // a viewer without the font takes another
		room = ScreenWidth
	}
	s, err := shown.arrange(room)
	if err != nil {
		return nil, err
	}
	switch format {
	case "svg":
		return s.writeSVG()
	case "pdf":
		c := newPDF(s.width, s.height, strings.Join(s.title, " "))
		s.on(c)
		var b bytes.Buffer
		err := c.writeTo(&b)
		return b.Bytes(), err
	case "png":
		if s.width.Dots(DPI)*s.height.Dots(DPI) > mostPixels {
			return nil, fmt.Errorf("as a PNG of %d dpi the figure has %.0f × %.0f pixels; up to %d million are drawn", DPI,
				s.width.Dots(DPI), s.height.Dots(DPI), int(mostPixels/1e6))
		}
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(DPI))}
		s.on(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
		return resolved(b.Bytes()), nil
	}
	return nil, fmt.Errorf("a figure has no format %q; allowed: %s", format, strings.Join(Formats(), ", "))
}

// mostPixels bounds the memory that a PNG takes while it is drawn.
const mostPixels = 200e6

func (s *sheet) on(c vg.CanvasSizer) {
	(&pen{draw.New(c), s}).draw()
}

// clean makes texts of others harmless, without changing what others hold.
func (f *Figure) clean() {
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

// resolved says in a PNG how many of its pixels an inch has: programs that place it then give it its size.
func resolved(png []byte) []byte {
	const head = 8 + 4 + 4 + 13 + 4 // signature, and the chunk IHDR
	perMetre := uint32(math.Round(DPI / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return append(append(append([]byte{}, png[:head]...), chunk...), png[head:]...)
}
