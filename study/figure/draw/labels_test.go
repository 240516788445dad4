package draw

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"weir/study/figure"
)

// written is a text of a figure with the corners of its box.
type written struct {
	text    string
	corners [4]vg.Point
}

// turn is the position and the angle to which a canvas has moved.
type turn struct {
	at    vg.Point
	angle float64
}

// point converts a point of the moved canvas to the page.
func (t *turn) point(p vg.Point) vg.Point {
	sin, cos := vg.Length(math.Sin(t.angle)), vg.Length(math.Cos(t.angle))
	return vg.Point{X: t.at.X + p.X*cos - p.Y*sin, Y: t.at.Y + p.X*sin + p.Y*cos}
}

// textsOf returns all texts of a figure with their boxes for a font, and the size of its page. It returns no text if
// the figure has no room in its height.
func textsOf(t *testing.T, f figure.Figure, room widthFunc) (all []written, page vg.Point) {
	t.Helper()
	s, err := arrangeFigure(&f, room)
	if err != nil && f.Size.Height > 0 && strings.Contains(err.Error(), "have no room in a height of") {
		return nil, page
	}
	if err != nil {
		t.Fatal(err)
	}
	var c recorder.Canvas
	anchors := &anchors{sized: sized{&c, s}}
	s.drawOn(anchors)
	now, stack := turn{}, []turn(nil)
	for _, a := range c.Actions {
		switch x := a.(type) {
		case *recorder.Push:
			stack = append(stack, now)
		case *recorder.Pop:
			now, stack = stack[len(stack)-1], stack[:len(stack)-1]
		case *recorder.Translate:
			now.at = now.point(x.Point)
		case *recorder.Rotate:
			now.angle += x.Angle
		case *recorder.FillString:
			wide, left := room(x.String, x.Size), vg.Length(0)
			switch anchors.all[len(all)] {
			case draw.XCenter:
				left = (textWidth(x.String, x.Size) - wide) / 2
			case draw.XRight:
				left = textWidth(x.String, x.Size) - wide
			}
			low, high := vg.Length(0), 0.7*x.Size
			if strings.ContainsAny(x.String, "gjpqy,;()[]µ_") {
				low = -0.16 * x.Size // they are a little lower, which may touch
			}
			w := written{text: x.String}
			for i, p := range []vg.Point{{X: left, Y: low}, {X: left + wide, Y: low}, {X: left + wide, Y: high},
				{X: left, Y: high}} {
				w.corners[i] = now.point(x.Point.Add(p))
			}
			all = append(all, w)
		}
	}
	return all, vg.Point{X: s.width, Y: s.height}
}

// sized is a canvas with a size.
type sized struct {
	vg.Canvas
	s *sheet
}

func (c sized) Size() (x, y vg.Length) { return c.s.width, c.s.height }

// anchors is a canvas that records how its texts are aligned.
type anchors struct {
	sized
	now draw.XAlignment
	all []draw.XAlignment
}

func (c *anchors) anchorTexts(at draw.XAlignment) { c.now = at }

func (c *anchors) FillString(f font.Face, at vg.Point, s string) {
	c.all = append(c.all, c.now)
	c.sized.FillString(f, at, s)
}

// cover reports whether two boxes overlap: no side of either parts them.
func cover(a, b *written) bool {
	for _, x := range []*written{a, b} {
		for i := range x.corners {
			p, q := x.corners[i], x.corners[(i+1)%4]
			across := vg.Point{X: p.Y - q.Y, Y: q.X - p.X}
			reach := func(w *written) (low, high vg.Length) {
				low, high = vg.Length(math.Inf(1)), vg.Length(math.Inf(-1))
				for _, c := range w.corners {
					d := c.X*across.X + c.Y*across.Y
					low, high = min(low, d), max(high, d)
				}
				return low, high
			}
			lowA, highA := reach(a)
			lowB, highB := reach(b)
			if highA <= lowB || highB <= lowA {
				return false
			}
		}
	}
	return true
}

// readable fails if texts of a figure overlap or are cut off by its edge: in the font of a print, and in the fonts that
// replace it on a screen.
func readable(t *testing.T, f figure.Figure) {
	t.Helper()
	for _, room := range []widthFunc{textWidth, ScreenWidth} {
		readableIn(t, f, room)
	}
}

func readableIn(t *testing.T, f figure.Figure, room widthFunc) {
	t.Helper()
	all, page := textsOf(t, f, room)
	for i := range all {
		for _, p := range all[i].corners {
			if p.X < -0.5 || p.Y < -0.5 || p.X > page.X+0.5 || p.Y > page.Y+0.5 {
				t.Errorf("%q is cut off: it reaches %.1f, %.1f of %.1f × %.1f", all[i].text, p.X, p.Y, page.X, page.Y)
				break
			}
		}
		for k := range i {
			if cover(&all[i], &all[k]) {
				t.Errorf("%q runs into %q", all[i].text, all[k].text)
			}
		}
	}
	if t.Failed() && look != "" {
		if svg, err := f.Render("svg"); err == nil {
			os.WriteFile(filepath.Join(look, strings.ReplaceAll(t.Name(), "/", "-")+".svg"), svg, 0o666)
		}
	}
}

var sizesOfFigures = map[string]figure.Size{"screen": figure.ScreenSize(), "89 mm": figure.PrintSize(89 * mm),
	"183 mm": figure.PrintSize(183 * mm), "89 × 50 mm": {Width: 89 * mm, Height: 50 * mm, Text: 8},
	"183 mm, 7 pt": {Width: 183 * mm, Text: 7}, "89 mm, 12 pt": {Width: 89 * mm, Text: 12}}

// TestTextsApart checks that no text of a figure overlaps another one or exceeds the page, in any kind of figure.
func TestTextsApart(t *testing.T) {
	for name, f := range samples() {
		for size, s := range sizesOfFigures {
			if s.Height > 0 && len(f.Panels)+len(f.Names) > 10 {
				continue // there is no room for them
			}
			t.Run(name+" "+size, func(t *testing.T) {
				f.Size = s
				readable(t, f)
			})
		}
	}
}

// hostile are ranges of values that are hard to label.
var hostile = map[string][2]float64{"shares": {0, 1}, "tiny": {1e-12, 3e-12}, "vast": {1e9, 9.9e12},
	"to below 0": {-5e6, 7e6}, "far from 0": {1e9, 1e9 + 3}, "near 1": {0.999981, 0.999997},
	"100k to 200k": {100e3, 200e3}, "below 0": {-4e-4, -1e-4},
	"one value": {12345.678, 12345.678}, "zero": {0, 0}, "sixteen decades": {1e-8, 1e8}, "half a decade": {0.4, 0.9},
	"long steps": {123456, 123458}, "a hair": {1, 1 + 1e-12}, "largest": {1, 1e300}}

// TestTicksApart checks that the labels of ticks do not overlap, for any values, on both axes, linear and logarithmic.
// Ticks are the sweep's, given ones, or a given number, and panels are next to each other.
func TestTicksApart(t *testing.T) {
	for name, r := range hostile {
		for _, log := range []bool{false, true} {
			for _, panels := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, logarithmic %v, %d panels", name, log, panels), func(t *testing.T) {
					for size, s := range sizesOfFigures {
						for _, set := range []func(a *figure.Axis, at []float64){
							func(*figure.Axis, []float64) {},
							func(a *figure.Axis, at []float64) { a.SweepValues = at },
							func(a *figure.Axis, at []float64) { a.Ticks = at },
							func(a *figure.Axis, _ []float64) { a.Count = 40 },
						} {
							f := figure.Figure{X: figure.NewAutoAxis("x [packets]"), Y: figure.NewAutoAxis("y [Mb/s]"),
								Names: []string{"a"}, Size: s}
							f.X.Log, f.Y.Log = log && r[0] > 0, log && r[0] > 0
							var m figure.Mark
							for k := range 12 {
								v := r[0] + (r[1]-r[0])*float64(k)/11
								if f.X.Log {
									v = r[0] * math.Pow(r[1]/r[0], float64(k)/11)
								}
								m.X, m.Y = append(m.X, v), append(m.Y, v)
							}
							set(&f.X, m.X)
							set(&f.Y, m.Y)
							for i := range panels {
								f.Panels = append(f.Panels, figure.Panel{Title: strings.Repeat("panel ", i), Marks: []figure.Mark{m}})
							}
							if panels > 1 && (s.Height > 0 || s.Text == figure.MinTextSize) {
								continue
							}
							if readable(t, f); t.Failed() {
								t.Fatalf("at %s", size)
							}
						}
					}
				})
			}
		}
	}
}

// TestWordsApart checks that categories do not overlap: few and many, short and long, with and without places to break
// them.
func TestWordsApart(t *testing.T) {
	long := strings.Repeat("longer", 12)
	for name, word := range map[string]func(k int) string{
		"numbers":   func(k int) string { return fmt.Sprint(k) },
		"schemes":   func(k int) string { return fmt.Sprintf("hpcc-%d", k) },
		"spaces":    func(k int) string { return fmt.Sprintf("a queue of %d packets", k) },
		"one long":  func(k int) string { return long[:1+k%2*len(long[1:])] },
		"long":      func(k int) string { return fmt.Sprint(long, k) },
		"wide":      func(int) string { return "帯域制御WWWWWW" },
		"accents":   func(k int) string { return fmt.Sprintf("Überlänge_%d %%", k) },
		"all alike": func(int) string { return "" },
	} {
		for _, n := range []int{1, 2, 5, 12, 40, 300} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				for size, s := range sizesOfFigures {
					if s.Height > 0 && len(word(1)) > 20 {
						continue // there is no room for it
					}
					var words []string
					for k := range n {
						words = append(words, word(k))
					}
					f := barred(2, words...)
					if f.Size = s; n > 40 {
						f.Panels[0].Marks = f.Panels[0].Marks[:1]
					}
					if readable(t, f); t.Failed() {
						t.Fatalf("at %s", size)
					}
				}
			})
		}
	}
}

// TestLongLabels checks that long labels of axes and titles are broken, and not cut off. A legend that does not fit
// into a corner is below the figure.
func TestLongLabels(t *testing.T) {
	for size, s := range sizesOfFigures {
		long := strings.Repeat("a very long label of what is shown ", int(48/s.Text))
		for name, f := range map[string]figure.Figure{"curves": curves(3), "multiples": overTime(2, 5, false),
			"heat": warm()} {
			if s.Height > 0 {
				continue // there is no room for them
			}
			t.Run(name+" "+size, func(t *testing.T) {
				f.Size, f.Title, f.Note, f.Y.Label, f.X.Label = s, long, long, long, long
				if f.ColourAxis != nil {
					f.ColourAxis.Label = long
				}
				for i := range f.Names {
					f.Names[i] = fmt.Sprint(long, i)
				}
				for i := range f.Panels {
					f.Panels[i].Title = fmt.Sprint(long, i)
				}
				readable(t, f)
				for _, place := range []figure.LegendPosition{figure.TopLeft, figure.BottomRight, figure.Right, figure.Above,
					figure.Best} {
					if f.ColourAxis != nil {
						break // it has no legend
					}
					own := f
					own.Legend = place
					texts, _ := textsOf(t, own, textWidth)
					for i := range texts {
						for k := range i {
							inside := isCorner(place) || place == figure.Best // it may lie over ticks' lines, not over texts
							if inside && cover(&texts[i], &texts[k]) {
								t.Errorf("%s: %q runs into %q", place, texts[i].text, texts[k].text)
							}
						}
					}
				}
			})
		}
	}
}

// TestBestCornerOfLines checks that the best corner has no line through it, even one without a value there.
func TestBestCornerOfLines(t *testing.T) {
	f := figure.Figure{X: figure.NewAutoAxis("x"), Y: figure.NewAutoAxis("y"), Names: []string{"a", "b"},
		Size:   figure.ScreenSize(),
		Legend: figure.Best, Panels: []figure.Panel{{
			Marks: []figure.Mark{{X: []float64{0, 10}, Y: []float64{9, 10}}, {Series: 1, X: []float64{0, 10}, Y: []float64{0,
				1}}}}}}
	f.Panels[0].Marks[1].Y = []float64{0, 10} // from corner to corner
	s, err := arrangeFigure(&f, textWidth)
	if err != nil {
		t.Fatal(err)
	}
	if s.key.place != figure.BottomRight {
		t.Errorf("the legend stands %s", s.key.place)
	}
	f.Panels[0].Marks[0].Y = []float64{10, 0} // the other two, too
	if s, err = arrangeFigure(&f, textWidth); err != nil || s.key.place != figure.Below {
		t.Errorf("the legend stands %v, %v", s.key.place, err)
	}
}

// TestSharesHaveNoPrefixes checks that shares on a logarithmic axis are plain numbers, and quantities have prefixes.
func TestSharesHaveNoPrefixes(t *testing.T) {
	f := figure.Figure{X: figure.NewAutoAxis("queue"), Y: figure.NewAutoAxis("share of values beyond"),
		Names:  []string{""},
		Size:   figure.PrintSize(89 * mm),
		Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{0, 1, 2, 3}, Y: []float64{1, 0.1, 0.001, 0.000001}}}}}}
	f.Y.Log, f.Y.UpperBound = true, 1
	for top, want := range map[float64]string{1: "1e-6 1e-5 0.0001 0.001 0.01 0.1 1", 0: "1µ 10µ 100µ 1m 0.01 0.1 1"} {
		f.Y.UpperBound = top
		s, err := arrangeFigure(&f, textWidth)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tick := range s.yTicks {
			got = append(got, tick.label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, not %s", got, want)
		}
	}
}
