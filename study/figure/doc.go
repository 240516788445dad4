// Package figure describes figures of papers and reports: curves, points, bars, boxes, steps and heat maps, in one
// panel or many with the same axes. Package draw draws them, if the program has linked it in (weir/app/figure); CSV
// needs no drawing.
package figure
