package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/command"
	"weir/study/report"
)

// TestListWidth checks that no list is wider than a terminal.
func TestListWidth(t *testing.T) {
	for _, what := range []string{"experiments", "schemes", "measures", "workloads", "topologies"} {
		t.Run(what, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), []string{"list", what}, &out, &errs, false); code != command.Done || out.Len() == 0 {
				t.Errorf("list %s: exit code %d, %s", what, code, errs.String())
			}
			for _, l := range strings.Split(out.String(), "\n") {
				if utf8.RuneCountInString(l) > report.DefaultWidth {
					t.Errorf("list %s: %q is wider than %d", what, l, report.DefaultWidth)
				}
			}
		})
	}
}

// TestShow_GuessesMisspeltNames checks that weir show suggests the right name for a misspelt scheme, or for an
// experiment without its folder.
func TestShow_GuessesMisspeltNames(t *testing.T) {
	for name, want := range map[string]string{"cubik": `did you mean the scheme "cubic"?`,
		"fig5": `did you mean "p4abc/fig5"?`, "p4abc/fgi5": `did you mean "p4abc/fig5"?`} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), []string{"show", name}, &out, &errs, false); code != command.WrongInput ||
				!strings.Contains(errs.String(), want) {
				t.Errorf("show %s: exit code %d, %s", name, code, errs.String())
			}
		})
	}
}

// TestCommandWidths checks that the output of each command is at most as wide as the terminal, and uses the width
// of a wide one. Lines with a single long word, such as a path, cannot be broken.
func TestCommandWidths(t *testing.T) {
	file := write(t, strings.Replace(small, "sweep: {rate: [1Mbps, 5Mbps]}", "sweep: {rate: [1Mbps, 5Mbps], "+
		"a_key_with_a_long_name: {a_value_with_a_long_name: {switch: [forward]}, another_one: {switch: [forward]}}}", 1))
	out := t.TempDir()
	a, b := ran(t, out, file), ran(t, out, file, "--set", "duration=150ms", "--set", "traffic.x.start=1ms")
	for _, width := range []int{40, 60, 80, 132} {
		for _, args := range [][]string{{"check", file}, {"show", file}, {"show", "cubic"}, {"list"}, {"list", "workloads"},
			{"list", "topologies"}, {"show", "ecn", "--footprint"}, {"diff", a, b}, {"docs"}, {"report", a}} {
			t.Run(fmt.Sprint(width, " ", strings.Join(args[:1], " ")), func(t *testing.T) {
				var printed, errs bytes.Buffer
				if code := runCommand(Registry(), args, &printed, &errs, false, screenStyle{width: width}); code != command.Done {
					t.Fatalf("exit code %d, %s", code, &errs)
				}
				widest := 0
				for l := range strings.Lines(printed.String()) {
					n := utf8.RuneCountInString(strings.TrimRight(l, "\n"))
					if words := strings.Fields(l); n > width && len(words) > 2 { // a sign, and a word
						t.Errorf("%d columns: %s", n, l)
					}
					widest = max(widest, n)
				}
				if widest < min(width, 80)/2 {
					t.Errorf("%d columns of %d are used:\n%s", widest, width, &printed)
				}
			})
		}
	}
}
