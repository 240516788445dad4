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

// maxGlyphs limits the number of cached characters and pairs.
const maxGlyphs = 20000

// glyphWidths caches the widths of characters and the kerning of pairs, in units of the font. Arranging a figure
// measures its texts many times, and looking up pairs in the font is slow.
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

// textWidth returns the width of a text in one line. It equals gonum's font.Face.Width for Liberation Sans. Goroutines
// may call it concurrently.
func textWidth(s string, size vg.Length) vg.Length {
	if s == "" {
		return 0
	}
	return vg.Length(widths.measureUnits(s)) * (size / vg.Length(typeface().UnitsPerEm()))
}

// measureUnits returns the width of a text in units of the font. It empties the cache first if it has more than
// maxGlyphs entries.
func (w *glyphWidths) measureUnits(s string) (sum int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.glyphs == nil || len(w.glyphs)+len(w.kerning) > maxGlyphs {
		w.glyphs, w.kerning = map[rune]glyph{}, map[[2]rune]int{}
	}
	previous := rune(-1)
	for _, r := range s {
		if previous >= 0 {
			sum += w.lookupKerning(previous, r)
		}
		sum += w.lookupGlyph(r).width
		previous = r
	}
	return sum
}

// lookupGlyph returns the glyph of a character and adds it to the cache; a box for a character that the font lacks. The
// caller holds the lock.
func (w *glyphWidths) lookupGlyph(r rune) glyph {
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

// lookupKerning returns the correction to the distance of a pair of characters: negative if closer, in units of the
// font. The caller holds the lock.
func (w *glyphWidths) lookupKerning(a, b rune) int {
	k, known := w.kerning[[2]rune{a, b}]
	if known {
		return k
	}
	face := typeface()
	kern, err := face.Kern(&w.buffer, w.lookupGlyph(a).index, w.lookupGlyph(b).index, fixed.Int26_6(face.UnitsPerEm()),
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
