// Package draw draws figures. One drawing gives SVG, PDF and PNG, whose bytes depend on the numbers only.
package draw
