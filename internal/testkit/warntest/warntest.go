// Package warntest tests warnings: each kind fires in one case and is quiet in the next, which differs in one value.
package warntest

import (
	"strings"
	"testing"

	"weir/internal/document"
)

// Row tests one kind of warning.
type Row struct {
	ID string
	// Text is a file with # in place of the deciding value and, before the place of the warning, the mark ¦. Fires and
	// Quiet are two values.
	Text, Fires, Quiet string
	Port               string // port of the warning; "": no port
	// Issue, if Text is empty, returns the warnings of a case in which the kind fires or is quiet.
	Issue func(t *testing.T, fires bool) []document.Warning
}

// mark precedes the place of a warning.
const mark = "¦"

// Run tests each row in the subtests ID/fires and ID/quiet. A kind that fires must be the only warning, at its place
// and about its port. A quiet case must have no warning. The function load returns the warnings about a file.
func Run(t *testing.T, rows []Row, load func(t *testing.T, text string) []document.Warning) {
	for _, x := range rows {
		t.Run(x.ID, func(t *testing.T) {
			t.Run("fires", func(t *testing.T) {
				all, line, column := x.issueCase(t, true, load)
				if len(all) != 1 || all[0].Kind.ID != x.ID || all[0].Port != x.Port {
					t.Fatalf("%d warnings, want one (%s) about port %q: %v", len(all), x.ID, x.Port, all)
				}
				if at := all[0].At; line > 0 && (at.Line != line || at.Column != column) {
					t.Errorf("it is at %v, want %d:%d", at, line, column)
				}
			})
			t.Run("quiet", func(t *testing.T) {
				if all, _, _ := x.issueCase(t, false, load); len(all) > 0 {
					t.Error(all)
				}
			})
		})
	}
}

// issueCase returns the warnings of one of the two cases, and the place of the mark in its text. The line is 0 without
// a mark, or if Issue has issued the warnings.
func (x *Row) issueCase(t *testing.T, fires bool, load func(t *testing.T, text string) []document.Warning) (
	all []document.Warning, line, column int) {
	if x.Issue != nil {
		return x.Issue(t, fires), 0, 0
	}
	value := x.Quiet
	if fires {
		value = x.Fires
	}
	text := strings.ReplaceAll(x.Text, "#", value)
	if before, after, marked := strings.Cut(text, mark); marked {
		line = 1 + strings.Count(before, "\n")
		column = len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
		text = before + after
	}
	return load(t, text), line, column
}
