// Package plots reads the plots of an experiment: what is on their axes, which points and traffics they show, and how
// they look. A Decoder checks them against what runs have; it depends on no point.
//
//	p, err := plots.NewDecoder(reader, view, names, traffics, ranks).Parse(keys)
//
// Package report draws them.
package plots
