// Package figuretest checks the texts of drawn figures.
package figuretest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"weir/study/figure/draw"
)

// affine transforms the point x, y to a·x + c·y + e, b·x + d·y + f.
type affine struct{ a, b, c, d, e, f float64 }

// apply returns the transformed point.
func (m affine) apply(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// multiply returns the transform that applies n first and then m.
func (m affine) multiply(n affine) affine {
	e, f := m.apply(n.e, n.f)
	return affine{m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b, m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d, e, f}
}

// parseTransform parses an attribute transform. An empty text is the identity. A function other than translate, scale
// and rotate is an error.
func parseTransform(text string) (m affine, err error) {
	m = affine{a: 1, d: 1}
	for _, part := range strings.SplitAfter(text, ")") {
		name, args, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(part), ")"), "(")
		if !ok {
			continue
		}
		v := []float64{0, 0}
		for i, arg := range strings.Split(args, ",") {
			if v[min(i, 1)], err = strconv.ParseFloat(strings.TrimSpace(arg), 64); err != nil {
				return m, err
			}
		}
		switch name {
		case "translate":
			m = m.multiply(affine{1, 0, 0, 1, v[0], v[1]})
		case "scale":
			m = m.multiply(affine{a: v[0], d: v[1]})
		case "rotate":
			sin, cos := math.Sincos(v[0] * math.Pi / 180)
			m = m.multiply(affine{a: cos, b: sin, c: -sin, d: cos})
		default:
			return m, fmt.Errorf("transform %s is not known", name)
		}
	}
	return m, nil
}

// FindProblems returns the errors of the texts in an SVG of package figure. It reports texts without a textLength. It
// also reports texts that leave the picture in a viewer without support for textLength, which draws them in DejaVu
// Sans or 15 % wider than in Liberation Sans.
func FindProblems(svg []byte) (all []string, err error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	stack := []affine{{a: 1, d: 1}}
	var width, height float64
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		switch x := token.(type) {
		case xml.StartElement:
			m, err := parseTransform(findAttribute(x, "transform"))
			if err != nil {
				return all, err
			}
			stack = append(stack, stack[len(stack)-1].multiply(m))
			switch x.Name.Local {
			case "svg":
				if _, err := fmt.Sscanf(findAttribute(x, "viewBox"), "0 0 %g %g", &width, &height); err != nil {
					return all, fmt.Errorf("viewBox: %w", err)
				}
			case "text":
				var words string
				if err := d.DecodeElement(&words, &x); err != nil {
					return all, err
				}
				if wrong := findMisplaced(x, words, stack[len(stack)-1], width, height); wrong != "" {
					all = append(all, wrong)
				}
				stack = stack[:len(stack)-1]
			}
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}

// findMisplaced returns the error of a text with these words in a picture of this size, or "". The element x has the
// transform m.
func findMisplaced(x xml.StartElement, words string, m affine, width, height float64) string {
	if length, err := strconv.ParseFloat(findAttribute(x, "textLength"), 64); err != nil || length <= 0 {
		return fmt.Sprintf("%q has no textLength", words)
	}
	_, after, _ := strings.Cut(findAttribute(x, "style"), "font-size:")
	digits, _, _ := strings.Cut(after, "px")
	size, err1 := strconv.ParseFloat(digits, 64)
	left, err2 := strconv.ParseFloat(findAttribute(x, "x"), 64)
	y, err3 := strconv.ParseFloat(findAttribute(x, "y"), 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return fmt.Sprintf("%q has no size or place: %v, %v, %v", words, err1, err2, err3)
	}
	wide := draw.ScreenWidth(words, vg.Length(size)).Points()
	switch findAttribute(x, "text-anchor") {
	case "middle":
		left -= wide / 2
	case "end":
		left -= wide
	}
	const touch = 0.5 // points
	for _, corner := range [][2]float64{{left, y}, {left + wide, y}, {left, y - 0.7*size}, {left + wide, y - 0.7*size}} {
		if px, py := m.apply(corner[0], corner[1]); px < -touch || py < -touch || px > width+touch || py > height+touch {
			return fmt.Sprintf("%q is cut off: it reaches %.1f, %.1f of %.1f × %.1f", words, px, py, width, height)
		}
	}
	return ""
}

// findAttribute returns the value of the attribute with this name, or "".
func findAttribute(x xml.StartElement, name string) string {
	for _, a := range x.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
