// Package measure has what experiments measure. Each kind of measure is one type, which says
// what its options are, what a run has to observe for it, whether it is available in the lab,
// and how it is evaluated. A registry names the kinds; a program that embeds Weir adds its own
// to those of Kinds. Values are the outcome of the measures of one run.
package measure
