package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is distinguishable for the colour-blind, too (Okabe, Ito 2008); in print, dashes and
// markers distinguish lines.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x44, 0x44, 0x44, 0xff},
}

var (
	dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3),
		vg.Points(2), vg.Points(3)}}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
		draw.RingGlyph{}, draw.BoxGlyph{}}
)

// worldColour is the ink of legends of worlds. It is not quite black, which an SVG
// leaves out where it fills, so that the page could not replace it.
var worldColour = color.Gray{1}

// cross is the paper's marker: thicker than gonum's, for it lies above others.
type cross struct{}

func (cross) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: g.Color, Width: vg.Points(1.6)})
	r := g.Radius * math.Sqrt2 / 2
	for _, y := range []vg.Length{r, -r} {
		var path vg.Path
		path.Move(vg.Point{X: at.X - r, Y: at.Y - y})
		path.Line(vg.Point{X: at.X + r, Y: at.Y + y})
		c.Stroke(path)
	}
}

// outline is a marker that is not filled, of so many sides (0: a ring): thicker than
// gonum's, for no line joins the lab's.
type outline int

var outlines = map[draw.GlyphDrawer]int{draw.SquareGlyph{}: 4, draw.TriangleGlyph{}: 3, draw.RingGlyph{}: 0}

func (sides outline) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: g.Color, Width: vg.Points(1.4)})
	var path vg.Path
	if sides == 0 {
		path.Move(vg.Point{X: at.X + g.Radius, Y: at.Y})
		path.Arc(at, g.Radius, 0, 2*math.Pi)
	}
	for k := range int(sides) {
		turn := math.Pi/2 + math.Pi/float64(sides)*float64(1-sides%2) + 2*math.Pi*float64(k)/float64(sides)
		p := vg.Point{X: at.X + g.Radius*vg.Length(math.Cos(turn)), Y: at.Y + g.Radius*vg.Length(math.Sin(turn))}
		if k == 0 {
			path.Move(p)
		} else {
			path.Line(p)
		}
	}
	path.Close()
	c.Stroke(path)
}
