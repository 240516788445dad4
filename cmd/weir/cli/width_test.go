package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/study/report"
)

// No list is wider than a terminal.
func TestListWidth(t *testing.T) {
	for _, what := range []string{"experiments", "schemes", "measures", "workloads", "topologies"} {
		t.Run(what, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), []string{"list", what}, &out, &errs, false); code != Done || out.Len() == 0 {
				t.Errorf("list %s: exit code %d, %s", what, code, errs.String())
			}
			for _, l := range strings.Split(out.String(), "\n") {
				if utf8.RuneCountInString(l) > report.Width {
					t.Errorf("list %s: %q is wider than %d", what, l, report.Width)
				}
			}
		})
	}
}

// A name with a slip, of a scheme or without its room, is guessed.
func TestGuess(t *testing.T) {
	for name, want := range map[string]string{"cubik": `did you mean the scheme "cubic"?`,
		"fig5": `did you mean "p4abc/fig5"?`, "p4abc/fgi5": `did you mean "p4abc/fig5"?`} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), []string{"show", name}, &out, &errs, false); code != WrongInput ||
				!strings.Contains(errs.String(), want) {
				t.Errorf("show %s: exit code %d, %s", name, code, errs.String())
			}
		})
	}
}
