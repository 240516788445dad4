package draw

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// patterns of lines, in widths of a line. A line's is that of its number, by four and by one: the four of one
// row of colours differ, and so do the series of one colour's neighbours.
var patterns = [][]float64{nil, {4.5, 2.2}, {1.3, 1.6}, {7, 1.9, 1.3, 1.9}}

// dashOf is the pattern of a series.
func dashOf(series int) []float64 {
	if series < 0 {
		return nil
	}
	return patterns[(series+series/4)%len(patterns)]
}

// hatch is how a bar is filled: wholly, or with lines in some directions.
type hatch struct {
	solid  bool
	angles []float64 // of its lines, in degrees
	gap    float64   // between them, in points
}

// hatches are those of bars, one a series.
var hatches = [figure.MostSeries]hatch{
	{solid: true}, {angles: []float64{45}, gap: 3.4}, {angles: []float64{0}, gap: 3.2},
	{angles: []float64{45, 135}, gap: 4.2}, {angles: []float64{135}, gap: 3.4}, {},
	{angles: []float64{90}, gap: 3.2}, {angles: []float64{0, 90}, gap: 4.2},
	{solid: true}, {angles: []float64{45}, gap: 1.9}, {angles: []float64{0}, gap: 1.8},
	{angles: []float64{45, 135}, gap: 2.6}, {angles: []float64{135}, gap: 1.9}, {angles: []float64{20}, gap: 2.6},
	{angles: []float64{90}, gap: 1.8}, {angles: []float64{0, 90}, gap: 2.6},
}

// grey inks. The darkest is not quite black, which an SVG leaves out where it fills, so that a page could not
// replace it by its own.
var (
	ink   = color.Gray{1}
	frame = color.Gray{0x60}
	lines = color.Gray{0xe1}
	paper = color.Gray{0xff}
)

// colourOf is that of a series.
func colourOf(series int) color.Color {
	if series < 0 {
		return ink
	}
	return figure.Palette()[series%figure.MostSeries]
}

// fade is a colour through which one sees.
func fade(c color.Color, share float64) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(math.Round(255 * share))}
}

// shape is a marker: a polygon by its corners on a circle, or strokes.
type shape struct {
	corners []float64 // angles in degrees, with radii
	radii   []float64 // 0: 1
	strokes bool      // lines from the centre to the corners, which are not filled
	round   bool
}

// polygon is one of so many sides, the first corner at an angle.
func polygon(sides int, first float64) shape {
	var s shape
	for k := range sides {
		s.corners = append(s.corners, first+360*float64(k)/float64(sides))
	}
	return s
}

// star has so many points, which reach in as far as inner.
func star(points int, inner float64) shape {
	s := polygon(2*points, 90)
	for k := range s.corners {
		r := 1.2
		if k%2 == 1 {
			r = inner
		}
		s.radii = append(s.radii, r)
	}
	return s
}

func (s shape) struck() shape { s.strokes = true; return s }

// shapes are the markers: eight of them, filled for the first eight series and hollow for the others.
var shapes = []shape{{round: true}, polygon(4, 45), polygon(3, 90), polygon(4, 90), polygon(3, 270), star(5, 0.5),
	polygon(4, 0).struck(), polygon(6, 0).struck()}

// markerOf is the marker of a series, and whether it is filled.
func markerOf(series int) (s shape, filled bool) {
	if series < 0 {
		return shapes[0], true
	}
	s = shapes[series%len(shapes)]
	if series >= len(shapes) && s.strokes { // strokes cannot be hollow
		return []shape{polygon(6, 0), polygon(5, 270)}[series%2], false
	}
	return s, series < len(shapes)
}

// marker draws one.
func (p *pen) marker(s shape, filled bool, c color.Color, at vg.Point, radius vg.Length) {
	var path vg.Path
	corner := func(k int) vg.Point {
		r := radius * 1.15
		if s.radii != nil {
			r *= vg.Length(s.radii[k])
		}
		a := s.corners[k] * math.Pi / 180
		return vg.Point{X: at.X + r*vg.Length(math.Cos(a)), Y: at.Y + r*vg.Length(math.Sin(a))}
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: radius * 0.45})
	switch {
	case s.round:
		path.Move(vg.Point{X: at.X + radius, Y: at.Y})
		path.Arc(at, radius, 0, 2*math.Pi)
		path.Close()
	case s.strokes:
		for k := range s.corners {
			path.Move(at)
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

// cross is the marker of others' numbers, with an edge of paper so that it is seen on others.
func (p *pen) cross(c color.Color, at vg.Point, radius vg.Length) {
	p.strokes(paper, at, radius, 1.1)
	p.strokes(c, at, radius, 0.5)
}

// strokes are the two of a cross, so many radii wide.
func (p *pen) strokes(c color.Color, at vg.Point, radius vg.Length, wide vg.Length) {
	r := radius * 1.1
	var path vg.Path
	for _, y := range []vg.Length{r, -r} {
		path.Move(vg.Point{X: at.X - r, Y: at.Y - y})
		path.Line(vg.Point{X: at.X + r, Y: at.Y + y})
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: radius * wide})
	p.Stroke(path)
}
