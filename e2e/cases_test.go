package e2e

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/command"
)

// warnedCases are the kinds of warnings about the files of testdata/cases.
var warnedCases = map[string][]string{
	"slow-start": {"cc-no-signal"}, // no buffer has a limit
}

// TestCases_ClaimsHoldWithoutOtherWarnings runs each file of testdata/cases, an input that was reported to give a
// wrong result silently. Its claims have the right value, with its source, and hold. It has only the warnings of
// warnedCases.
func TestCases_ClaimsHoldWithoutOtherWarnings(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := app.Command(app.Registry(), &out, &errs, "run", f, "--check", "--jobs", "1", "--out", t.TempDir())
			if code != command.Done || strings.Contains(out.String(), "undecided") || !strings.Contains(out.String(), "claim") {
				t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
			}
			var kinds []string
			for line := range strings.Lines(errs.String()) {
				if _, kind, is := strings.Cut(strings.TrimSuffix(line, ")\n"), " ("); is {
					kinds = append(kinds, kind[strings.LastIndex(kind, "(")+1:])
				} else {
					t.Errorf("standard error has %q", line)
				}
			}
			slices.Sort(kinds)
			if kinds = slices.Compact(kinds); !slices.Equal(kinds, warnedCases[name]) {
				t.Errorf("warnings %v, want %v", kinds, warnedCases[name])
			}
		})
	}
}
