// Package figure links the drawing of figures into a program: SVG, PDF and PNG, for reports and weir plot.
package figure

import (
	"weir/study/figure"
	"weir/study/figure/draw"
)

func init() { figure.Drawing.Link(draw.Drawer{}) }
