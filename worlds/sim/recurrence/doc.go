// Package recurrence compares the state of a network at two moments, word by word. If all words are the same, with each
// instant relative to its moment, the events after the second moment repeat those after the first.
//
// All values that can be reached from the roots are state, unless the description of a type excludes a field (package
// state). A time without a kind counts as a difference, as it may be an instant or a span. NewSurvey lists such fields.
package recurrence
