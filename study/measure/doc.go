// Package measure defines what experiments measure. Each kind of measure is one type. It declares its options, what a
// run has to observe for it and whether the lab supports it, and it computes its values from a run's result. A
// registry lists the kinds; a program that embeds Weir adds its own to Definitions. Values are the outcome of the
// measures of one run.
package measure
