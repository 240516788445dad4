// Package figure draws figures of papers and reports: curves, points, bars, boxes, steps and heat maps, in one
// panel or many with the same axes. One drawing gives SVG, PDF and PNG, whose bytes depend on the numbers only.
package figure
