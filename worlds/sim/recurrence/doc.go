// Package recurrence compares the state of a network at two moments, word by word. If all of it is the same, each
// instant relative to its moment, then what follows the second moment is what has followed the first.
//
// All that can be reached from the roots is state, unless the description of a type excludes a field (package state). A
// time without a kind counts as a difference, as it may be an instant or a span. NewSurvey lists such fields.
package recurrence
