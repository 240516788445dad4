// Package measure has what experiments measure: one type a kind of measure, which says what
// its options are, what a run has to observe for it, whether the lab can give it, and how it
// is evaluated. A registry names the kinds; a program that embeds Weir adds its own to those
// of Kinds. Values are what measures give of a run.
package measure
