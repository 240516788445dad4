// Package plots reads the plots of an experiment: the axes, the points and traffics that are shown, and the
// appearance. A Decoder checks them against what runs measure; it does not depend on a point.
//
//	p, err := plots.NewDecoder(reader, view, names, traffics, ranks).Parse(keys)
//
// Package report draws them.
package plots
