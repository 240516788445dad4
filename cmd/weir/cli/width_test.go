package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/report"
)

// No list is wider than a terminal.
func TestListWidth(t *testing.T) {
	for _, what := range []string{"experiments", "schemes", "measures", "workloads", "topologies"} {
		var out, errs bytes.Buffer
		if code := Run(Registry(), []string{"list", what}, &out, &errs, false); code != Done || out.Len() == 0 {
			t.Errorf("list %s: exit code %d, %s", what, code, errs.String())
		}
		for _, l := range strings.Split(out.String(), "\n") {
			if utf8.RuneCountInString(l) > report.Width {
				t.Errorf("list %s: %q is wider than %d", what, l, report.Width)
			}
		}
	}
}
