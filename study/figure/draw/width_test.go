package draw

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestTextWidth_MatchesDrawingLibrary checks that the widths of texts equal the drawing library's, also for texts with
// more characters and pairs than are kept.
func TestTextWidth_MatchesDrawingLibrary(t *testing.T) {
	texts := []string{"", "AVAWA To. Ty", "goodput [Mb/s]", "帯域制御WWWWWW", "Überlänge_3 %", "µ ≤ 10⁻³", "\xff",
		strings.Repeat("longer", 12)}
	var many strings.Builder
	for r := rune(0x20); r < 0x2000; r += 7 {
		many.WriteRune(r)
	}
	texts = append(texts, many.String())
	for _, text := range texts {
		for _, size := range []vg.Length{7, 8.5, 12} {
			style := textStyle(size)
			if got, want := textWidth(text, size), style.Width(text); got != want {
				t.Errorf("%.40q at %v: %v, want %v", text, size, got, want)
			}
		}
	}
	before := textWidth("To", 9)
	for range 3 { // more pairs than are kept
		for a := rune(0x20); a < 0x100; a++ {
			var b strings.Builder
			for r := rune(0x20); r < 0x80; r++ {
				b.WriteRune(a)
				b.WriteRune(r)
			}
			textWidth(b.String(), 9)
		}
	}
	if n := len(widths.glyphs) + len(widths.kerning); n > maxGlyphs+300 {
		t.Errorf("%d widths are kept", n)
	}
	if after := textWidth("To", 9); after != before {
		t.Errorf("%v, and later %v", before, after)
	}
}
