package draw

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdf is a canvas for one PDF page. It replaces gonum's PDF canvas, which supports only one code page and writes the
// time. This one embeds the used part of the font as TrueType with Unicode.
type pdf struct {
	doc    *fpdf.Fpdf
	height vg.Length
	state  pdfState
	stack  []pdfState
}

// pdfState is the graphics state that Push saves.
type pdfState struct {
	a, b, c, d, e, f float64 // transformation of points to page coordinates, y upwards
	colour           color.Color
	width            float64
}

// fontFamily is the font's name in the document.
const fontFamily = "LiberationSans"

// newPDF returns a canvas with one empty page of the given size. The document's dates are fixed, so that equal figures
// give equal bytes. title is the document's.
func newPDF(width, height vg.Length, title string) *pdf {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width.Points(), Ht: height.Points()}})
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetCatalogSort(true)
	doc.SetProducer("Weir", true)
	doc.SetTitle(title, true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes(fontFamily, "", liberationsansregular.TTF)
	doc.AddPage()
	doc.SetLineJoinStyle("round")
	p := &pdf{doc: doc, height: height, state: pdfState{a: 1, d: 1}}
	vg.Initialize(p)
	return p
}

// pagePoint transforms a point to fpdf's page coordinates, in points from the top left.
func (p *pdf) pagePoint(x vg.Point) (float64, float64) {
	s, px, py := &p.state, x.X.Points(), x.Y.Points()
	return s.a*px + s.c*py + s.e, p.height.Points() - (s.b*px + s.d*py + s.f)
}

// SetLineWidth implements vg.Canvas.
func (p *pdf) SetLineWidth(w vg.Length) {
	p.state.width = w.Points()
	p.doc.SetLineWidth(w.Points())
}

// SetLineDash implements vg.Canvas.
func (p *pdf) SetLineDash(pattern []vg.Length, offset vg.Length) {
	all := make([]float64, len(pattern))
	for i, x := range pattern {
		all[i] = x.Points()
	}
	p.doc.SetDashPattern(all, offset.Points())
}

// SetColor implements vg.Canvas. The colour applies to lines, areas and texts; nil is black.
func (p *pdf) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	p.state.colour = c
	x := color.NRGBAModel.Convert(c).(color.NRGBA)
	r, g, b := int(x.R), int(x.G), int(x.B)
	p.doc.SetFillColor(r, g, b)
	p.doc.SetDrawColor(r, g, b)
	p.doc.SetTextColor(r, g, b)
	p.doc.SetAlpha(float64(x.A)/255, "Normal")
}

// Rotate implements vg.Canvas.
func (p *pdf) Rotate(rad float64) {
	s, sin, cos := p.state, math.Sin(rad), math.Cos(rad)
	p.state.a, p.state.b = s.a*cos+s.c*sin, s.b*cos+s.d*sin
	p.state.c, p.state.d = s.c*cos-s.a*sin, s.d*cos-s.b*sin
}

// Translate implements vg.Canvas.
func (p *pdf) Translate(by vg.Point) {
	s, x, y := &p.state, by.X.Points(), by.Y.Points()
	s.e, s.f = s.e+s.a*x+s.c*y, s.f+s.b*x+s.d*y
}

// Scale implements vg.Canvas.
func (p *pdf) Scale(x, y float64) {
	s := &p.state
	s.a, s.b, s.c, s.d = s.a*x, s.b*x, s.c*y, s.d*y
}

// Push implements vg.Canvas.
func (p *pdf) Push() { p.stack = append(p.stack, p.state) }

// Pop implements vg.Canvas. It restores the transformation, colour and line width, but not the dashes.
func (p *pdf) Pop() {
	last := len(p.stack) - 1
	p.state, p.stack = p.stack[last], p.stack[:last]
	if p.state.colour != nil {
		p.SetColor(p.state.colour)
	}
	p.doc.SetLineWidth(p.state.width)
}

// Stroke implements vg.Canvas.
func (p *pdf) Stroke(path vg.Path) {
	if p.state.width > 0 {
		p.drawPath(path, "D")
	}
}

// Fill implements vg.Canvas.
func (p *pdf) Fill(path vg.Path) { p.drawPath(path, "F") }

// drawPath draws the path, transformed; style is fpdf's: D strokes, F fills.
func (p *pdf) drawPath(path vg.Path, style string) {
	open := false
	for _, c := range path {
		x, y := p.pagePoint(c.Pos)
		switch c.Type {
		case vg.MoveComp:
			p.doc.MoveTo(x, y)
			open = true
		case vg.LineComp:
			p.doc.LineTo(x, y)
		case vg.ArcComp:
			p.drawArc(c, open)
			open = true
		case vg.CurveComp:
			first := c.Control[0]
			second := c.Control[len(c.Control)-1]
			x1, y1 := p.pagePoint(first)
			x2, y2 := p.pagePoint(second)
			p.doc.CurveBezierCubicTo(x1, y1, x2, y2, x, y)
		case vg.CloseComp:
			p.doc.ClosePath()
		}
	}
	p.doc.DrawPath(style)
}

// drawArc draws an arc as Bézier curves of at most a quarter circle. open reports whether the path has a current
// point.
func (p *pdf) drawArc(c vg.PathComp, open bool) {
	parts := max(1, int(math.Ceil(math.Abs(c.Angle)/(math.Pi/2)-1e-9)))
	step := c.Angle / float64(parts)
	k := vg.Length(4.0 / 3 * math.Tan(step/4))
	on := func(angle float64) (at, along vg.Point) {
		sin, cos := vg.Length(math.Sin(angle))*c.Radius, vg.Length(math.Cos(angle))*c.Radius
		return vg.Point{X: c.Pos.X + cos, Y: c.Pos.Y + sin}, vg.Point{X: -sin * k, Y: cos * k}
	}
	at, along := on(c.Start)
	if x, y := p.pagePoint(at); open {
		p.doc.LineTo(x, y)
	} else {
		p.doc.MoveTo(x, y)
	}
	for i := 1; i <= parts; i++ {
		to, next := on(c.Start + step*float64(i))
		x1, y1 := p.pagePoint(at.Add(along))
		x2, y2 := p.pagePoint(to.Sub(next))
		x, y := p.pagePoint(to)
		p.doc.CurveBezierCubicTo(x1, y1, x2, y2, x, y)
		at, along = to, next
	}
}

// FillString implements vg.Canvas. It draws rotated text by fpdf's rotation.
func (p *pdf) FillString(f font.Face, at vg.Point, s string) {
	p.doc.SetFont(fontFamily, "", f.Font.Size.Points())
	x, y := p.pagePoint(at)
	turned := math.Atan2(p.state.b, p.state.a) * 180 / math.Pi
	if turned != 0 {
		p.doc.TransformBegin()
		p.doc.TransformRotate(turned, x, y)
	}
	p.doc.Text(x, y, s)
	if turned != 0 {
		p.doc.TransformEnd()
	}
}

// DrawImage implements vg.Canvas. Figures contain no images, so it sets the document's error.
func (p *pdf) DrawImage(vg.Rectangle, image.Image) {
	p.doc.SetError(fmt.Errorf("a figure has an image, which is not possible in a PDF"))
}

// Size implements vg.CanvasSizer.
func (p *pdf) Size() (w, h vg.Length) {
	wide, high := p.doc.GetPageSize()
	return vg.Length(wide), vg.Length(high)
}

// writeTo writes the document to w, and returns its first error. The canvas cannot be used afterwards.
func (p *pdf) writeTo(w io.Writer) error { return p.doc.Output(w) }
