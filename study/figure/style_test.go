package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"testing"
)

// dichromat is how a colour looks without one kind of cone (Viénot, Brettel, Mollon 1999; tritan: Machado 2009).
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

// Sixteen series are told apart: each has a colour of its own and a marker of its own, which is enough in grey; and
// two whose colours look alike to somebody, or in grey, have other dashes or other markers besides, and other hatches.
func TestApart(t *testing.T) {
	for i := range styles {
		for j := range i {
			t.Run(fmt.Sprintf("%d and %d", j, i), func(t *testing.T) {
				if palette[i] == palette[j] {
					t.Error("they have one colour")
				}
				a, fullA := markerOf(i)
				b, fullB := markerOf(j)
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
			for i := range styles {
				for j := range i {
					a, b := dichromat(palette[i], m), dichromat(palette[j], m)
					far := math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
					if far < 0.06 && slices.Equal(dashOf(i), dashOf(j)) {
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

// On white every colour has a contrast of 3, as WCAG asks of graphics.
func TestContrast(t *testing.T) {
	for i, c := range palette {
		if contrast := 1.05 / (light(c) + 0.05); contrast < 3 {
			t.Errorf("series %d has a contrast of %.2f", i, contrast)
		}
	}
	last := 2.0
	for k := range 65 { // the colours of heat maps fall evenly in lightness
		now := light(heatOf(float64(k) / 64))
		if now >= last {
			t.Errorf("at %d of 64 the colours do not get darker", k)
		}
		last = now
	}
}

// A panel with more series than can be told apart is refused; whoever makes figures splits it.
func TestTooMany(t *testing.T) {
	if _, err := (&Figure{Names: make([]string, 20), Size: Screen(), X: Auto(""), Y: Auto(""),
		Panels: []Panel{{Marks: func() (all []Mark) {
			for s := range 20 {
				all = append(all, Mark{Series: s, X: []float64{1}, Y: []float64{1}})
			}
			return all
		}()}}}).Write("svg"); err == nil {
		t.Error("20 series are drawn in one panel")
	}
}
