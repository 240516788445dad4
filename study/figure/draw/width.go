package draw

import (
	"errors"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/vg"
)

// typeface returns the font of all figures.
var typeface = sync.OnceValue(func() *opentype.Font {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic("the font that is built in: " + err.Error())
	}
	return face
})

// maxGlyphs limits how many widths of characters and of pairs are kept.
const maxGlyphs = 20000

// glyphWidths keeps the widths of characters and the kerning of pairs, in units of the font: to arrange a figure
// measures its texts many times, and to look a pair up in the font takes most of that.
type glyphWidths struct {
	mu      sync.Mutex
	buffer  sfnt.Buffer
	glyphs  map[rune]glyph
	kerning map[[2]rune]int
}

// glyph is a character in the font.
type glyph struct {
	index sfnt.GlyphIndex
	width int
}

var widths glyphWidths

// width returns the width of a text in one line. It equals gonum's font.Face.Width.
func width(s string, size vg.Length) vg.Length {
	if s == "" {
		return 0
	}
	return vg.Length(widths.units(s)) * (size / vg.Length(typeface().UnitsPerEm()))
}

// units returns the width of a text in units of the font.
func (w *glyphWidths) units(s string) (sum int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.glyphs == nil || len(w.glyphs)+len(w.kerning) > maxGlyphs {
		w.glyphs, w.kerning = map[rune]glyph{}, map[[2]rune]int{}
	}
	previous := rune(-1)
	for _, r := range s {
		if previous >= 0 {
			sum += w.kern(previous, r)
		}
		sum += w.glyph(r).width
		previous = r
	}
	return sum
}

// glyph returns the glyph of a character. The built-in font has one for each: of an unknown character, a box.
func (w *glyphWidths) glyph(r rune) glyph {
	g, known := w.glyphs[r]
	if known {
		return g
	}
	face := typeface()
	index, err := face.GlyphIndex(&w.buffer, r)
	if err == nil {
		var advance fixed.Int26_6
		advance, err = face.GlyphAdvance(&w.buffer, index, fixed.Int26_6(face.UnitsPerEm()), xfont.HintingNone)
		g = glyph{index, int(advance)}
	}
	if err != nil {
		panic("the font that is built in: " + err.Error())
	}
	w.glyphs[r] = g
	return g
}

// kern returns how much closer, or farther if positive, a pair of characters stands than their widths.
func (w *glyphWidths) kern(a, b rune) int {
	k, known := w.kerning[[2]rune{a, b}]
	if known {
		return k
	}
	face := typeface()
	kern, err := face.Kern(&w.buffer, w.glyph(a).index, w.glyph(b).index, fixed.Int26_6(face.UnitsPerEm()),
		xfont.HintingNone)
	if err != nil && !errors.Is(err, sfnt.ErrNotFound) {
		panic("the font that is built in: " + err.Error())
	}
	if err == nil {
		k = int(kern)
	}
	w.kerning[[2]rune{a, b}] = k
	return k
}
