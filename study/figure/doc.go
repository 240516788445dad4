// Package figure describes figures of papers and reports: curves, points, bars, boxes, steps and heat maps, in one
// panel or several panels with the same axes. Package draw draws them if the program links it in (weir/app/figure).
// CSV needs no drawing.
package figure
