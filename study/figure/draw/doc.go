// Package draw draws figures as SVG, PDF and PNG. The output bytes depend only on the figure's numbers and texts.
package draw
