package draw

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// dashPatterns are the dashes of lines, in line widths. The index advances by one for each series and once more after
// four, so that series with neighbouring colours get different dashes.
var dashPatterns = [][]float64{nil, {4.5, 2.2}, {1.3, 1.6}, {7, 1.9, 1.3, 1.9}}

// dashPattern returns the dashes of a series, in line widths; nil: solid. The slice is shared and must not be changed.
func dashPattern(series int) []float64 {
	if series < 0 {
		return nil
	}
	return dashPatterns[(series+series/4)%len(dashPatterns)]
}

// hatch is the fill of a bar: solid, or lines in some directions.
type hatch struct {
	solid  bool
	angles []float64 // of the lines, in degrees
	gap    float64   // distance of the lines, in points
}

// hatches are the fills of bars, indexed by series.
var hatches = [figure.MaxSeries]hatch{
	{solid: true}, {angles: []float64{45}, gap: 3.4}, {angles: []float64{0}, gap: 3.2},
	{angles: []float64{45, 135}, gap: 4.2}, {angles: []float64{135}, gap: 3.4}, {},
	{angles: []float64{90}, gap: 3.2}, {angles: []float64{0, 90}, gap: 4.2},
	{solid: true}, {angles: []float64{45}, gap: 1.9}, {angles: []float64{0}, gap: 1.8},
	{angles: []float64{45, 135}, gap: 2.6}, {angles: []float64{135}, gap: 1.9}, {angles: []float64{20}, gap: 2.6},
	{angles: []float64{90}, gap: 1.8}, {angles: []float64{0, 90}, gap: 2.6},
}

// Inks. The darkest is not quite black: an SVG omits the fill of black text, and a page could not replace it.
var (
	ink        = color.Gray{1}
	frame      = color.Gray{0x60}
	gridColour = color.Gray{0xe1}
	paper      = color.Gray{0xff}
)

// seriesColour returns the colour of a series; ink for a negative index.
func seriesColour(series int) color.Color {
	if series < 0 {
		return ink
	}
	return figure.Palette()[series%figure.MaxSeries]
}

// withOpacity returns the opaque colour c with the opacity share, 0 … 1.
func withOpacity(c color.Color, share float64) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(math.Round(255 * share))}
}

// shape is a marker: a polygon, a circle, or strokes from the centre.
type shape struct {
	corners []float64 // angles in degrees
	radii   []float64 // radius of each corner as a factor; nil: 1
	strokes bool      // lines from the centre to the corners, without a fill
	round   bool
}

// newPolygon returns a regular polygon; firstAngle is the angle of its first corner in degrees.
func newPolygon(sides int, firstAngle float64) shape {
	var s shape
	for k := range sides {
		s.corners = append(s.corners, firstAngle+360*float64(k)/float64(sides))
	}
	return s
}

// newStar returns a star with the given number of points; inner is the factor of the inner radius; the outer one has
// 1.2.
func newStar(points int, inner float64) shape {
	s := newPolygon(2*points, 90)
	for k := range s.corners {
		r := 1.2
		if k%2 == 1 {
			r = inner
		}
		s.radii = append(s.radii, r)
	}
	return s
}

// asStrokes returns the shape drawn as strokes.
func (s shape) asStrokes() shape { s.strokes = true; return s }

// shapes are the eight markers, filled for the first eight series and hollow for the others.
var shapes = []shape{{round: true}, newPolygon(4, 45), newPolygon(3, 90), newPolygon(4, 90), newPolygon(3, 270),
	newStar(5, 0.5), newPolygon(4, 0).asStrokes(), newPolygon(6, 0).asStrokes()}

// seriesMarker returns the marker of a series, and whether it is filled.
func seriesMarker(series int) (s shape, filled bool) {
	if series < 0 {
		return shapes[0], true
	}
	s = shapes[series%len(shapes)]
	if series >= len(shapes) && s.strokes { // strokes cannot be hollow
		return []shape{newPolygon(6, 0), newPolygon(5, 270)}[series%2], false
	}
	return s, series < len(shapes)
}

// drawMarker draws a marker of the given radius centred at a point of the canvas. A hollow one is filled with paper.
func (p *pen) drawMarker(s shape, filled bool, c color.Color, centre vg.Point, radius vg.Length) {
	var path vg.Path
	corner := func(k int) vg.Point {
		r := radius * 1.15
		if s.radii != nil {
			r *= vg.Length(s.radii[k])
		}
		a := s.corners[k] * math.Pi / 180
		return vg.Point{X: centre.X + r*vg.Length(math.Cos(a)), Y: centre.Y + r*vg.Length(math.Sin(a))}
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: radius * 0.45})
	switch {
	case s.round:
		path.Move(vg.Point{X: centre.X + radius, Y: centre.Y})
		path.Arc(centre, radius, 0, 2*math.Pi)
		path.Close()
	case s.strokes:
		for k := range s.corners {
			path.Move(centre)
			path.Line(corner(k))
		}
	default:
		for k := range s.corners {
			if k == 0 {
				path.Move(corner(k))
			} else {
				path.Line(corner(k))
			}
		}
		path.Close()
	}
	switch {
	case s.strokes:
		p.Stroke(path)
	case filled:
		p.SetColor(c)
		p.Fill(path)
	default:
		p.SetColor(paper)
		p.Fill(path)
		p.SetLineStyle(draw.LineStyle{Color: c, Width: radius * 0.45})
		p.Stroke(path)
	}
}

// drawCross draws the marker of reference values, with a paper-coloured edge so that it is visible on other marks.
func (p *pen) drawCross(c color.Color, centre vg.Point, radius vg.Length) {
	p.drawStrokes(paper, centre, radius, 1.1)
	p.drawStrokes(c, centre, radius, 0.5)
}

// drawStrokes draws the two strokes of a cross; width is theirs, in radii.
func (p *pen) drawStrokes(c color.Color, centre vg.Point, radius vg.Length, width vg.Length) {
	r := radius * 1.1
	var path vg.Path
	for _, y := range []vg.Length{r, -r} {
		path.Move(vg.Point{X: centre.X - r, Y: centre.Y - y})
		path.Line(vg.Point{X: centre.X + r, Y: centre.Y + y})
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: radius * width})
	p.Stroke(path)
}
