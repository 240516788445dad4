package draw

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/study/figure"
)

// dichromat returns how a colour looks without one kind of cone (Viénot, Brettel, Mollon 1999; tritan: Machado 2009).
func dichromat(c color.RGBA, m [3][3]float64) (out [3]float64) {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	rgb := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	for i := range 3 {
		for k := range 3 {
			out[i] += m[i][k] * rgb[k]
		}
		out[i] = math.Pow(min(max(out[i], 0), 1), 1/2.2)
	}
	return out
}

var sights = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
	"deuteranopia": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	"tritanopia":   {{1.01277, 0.13548, -0.14826}, {-0.01243, 0.86812, 0.14431}, {0.07589, 0.80500, 0.11911}},
	"grey":         {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}},
}

// TestSeries_AreDistinguishable checks that sixteen series can be distinguished. Each has a colour, a marker and a
// hatch of its own. If the colours of two look alike to the colour-blind, or in grey, their dashes differ, except for
// six pairs at most that only their markers distinguish.
func TestSeries_AreDistinguishable(t *testing.T) {
	for i := range figure.MaxSeries {
		for j := range i {
			t.Run(fmt.Sprintf("%d and %d", j, i), func(t *testing.T) {
				if figure.Palette()[i] == figure.Palette()[j] {
					t.Error("they have one colour")
				}
				a, fullA := seriesMarker(i)
				b, fullB := seriesMarker(j)
				same := fullA == fullB && a.round == b.round && a.strokes == b.strokes && slices.Equal(a.corners, b.corners)
				if same {
					t.Error("they have one marker")
				}
				h, g := hatches[i], hatches[j]
				if h.solid == g.solid && h.gap == g.gap && slices.Equal(h.angles, g.angles) && !h.solid {
					t.Error("they have one hatch")
				}
			})
		}
	}
	for name, m := range sights {
		t.Run(name, func(t *testing.T) {
			alike := 0
			for i := range figure.MaxSeries {
				for j := range i {
					a, b := dichromat(figure.Palette()[i], m), dichromat(figure.Palette()[j], m)
					far := math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
					if far < 0.06 && slices.Equal(dashPattern(i), dashPattern(j)) {
						alike++
					}
				}
			}
			if name == "normal" && alike > 0 || alike > 6 {
				t.Errorf("%d pairs have like colours and one dash, and only their markers differ", alike)
			}
		})
	}
}

// TestPalette_HasContrastOnWhite checks that on white every colour has a contrast of 3, as WCAG requires of graphics.
func TestPalette_HasContrastOnWhite(t *testing.T) {
	for i, c := range figure.Palette() {
		if contrast := 1.05 / (luminance(c) + 0.05); contrast < 3 {
			t.Errorf("series %d has a contrast of %.2f", i, contrast)
		}
	}
	last := 2.0
	for k := range 65 { // the colours of heat maps fall evenly in lightness
		now := luminance(heatColour(float64(k) / 64))
		if now >= last {
			t.Errorf("at %d of 64 the colours do not get darker", k)
		}
		last = now
	}
}

// TestBlocksApart checks that the colours of states are distinct in grey, since the lightness of two (L* of CIE 1976)
// differs by 19 of 100 or more, and for the colour-blind.
func TestBlocksApart(t *testing.T) {
	lightness := func(y float64) float64 { return 116*math.Cbrt(y) - 16 }
	for i, a := range stateColours {
		for _, b := range stateColours[:i] {
			if far := math.Abs(lightness(luminance(a)) - lightness(luminance(b))); far < 19 {
				t.Errorf("%v and %v differ by %.1f in lightness", a, b, far)
			}
			for name, m := range sights {
				x, y := dichromat(a, m), dichromat(b, m)
				if far := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); far < 0.15 {
					t.Errorf("%s: %v and %v are %.2f apart", name, a, b, far)
				}
			}
		}
	}
}

// TestNarrowRows checks a row with parts that are too narrow to be drawn. Each place shows the state of most of it, and
// the drawn parts fill the row as far as there are parts.
func TestNarrowRows(t *testing.T) {
	r := &figure.Rows{Names: []string{"a", "b"}}
	for k := range 10000 { // three quarters are 1, the others 2; in the last tenth it is the other way round
		at := float64(k)
		less := 0.25
		if k >= 9000 {
			less = 0.75
		}
		r.Spans = append(r.Spans, figure.Span{Row: 0, State: 1, From: at, To: at + 1 - less}, figure.Span{Row: 0, State: 2,
			From: at + 1 - less, To: at + 1})
	}
	r.Spans = append(r.Spans, figure.Span{Row: 1, State: 1, From: 0, To: 4000}, figure.Span{Row: 1, State: 3, From: 4000,
		To: 10000})
	f := figure.Figure{X: figure.NewAutoAxis("t"), Y: figure.NewAutoAxis("rank"), Size: figure.PrintSize(89 * mm),
		States: []string{"a", "b",
			"c", "d"},
		Panels: []figure.Panel{{Rows: r}}}
	s, err := arrangeFigure(&f, textWidth)
	if err != nil {
		t.Fatal(err)
	}
	got := s.visibleSpans(r.Spans[:20000])
	if len(got) != 2 || got[0].State != 1 || got[1].State != 2 || math.Abs(got[0].To-9000) > s.minSpanLength() ||
		got[0].From != 0 ||
		math.Abs(got[1].To-10000) > s.minSpanLength() {
		t.Errorf("%v", got)
	}
	if whole := s.visibleSpans(r.Spans[20000:]); len(whole) != 2 || whole[0] != r.Spans[20000] {
		t.Errorf("a row with room has %v", whole)
	}
	if !strings.Contains(strings.Join(s.note, " "), "too narrow") {
		t.Errorf("the note is %q", s.note)
	}
}

// TestTooMany checks that a panel with more series than can be distinguished is refused. The caller splits it.
func TestTooMany(t *testing.T) {
	if _, err := (&figure.Figure{Names: make([]string, 20), Size: figure.ScreenSize(), X: figure.NewAutoAxis(""),
		Y: figure.NewAutoAxis(""),
		Panels: []figure.Panel{{Marks: func() (all []figure.Mark) {
			for s := range 20 {
				all = append(all, figure.Mark{Series: s, X: []float64{1}, Y: []float64{1}})
			}
			return all
		}()}}}).Render("svg"); err == nil {
		t.Error("20 series are drawn in one panel")
	}
}
