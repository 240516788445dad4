package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/command"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// changeOfFirstHour returns the patch that the first hour applies to mine.yaml.
func changeOfFirstHour(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../docs/tutorials", "first-hour.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, change, _ := strings.Cut(string(page), "git apply <<'END'\n")
	change, _, ok := strings.Cut(change, "\nEND\n")
	if !ok {
		t.Fatal("the first hour has no patch")
	}
	return change + "\n"
}

// copyOfFig5 returns the content of mine.yaml in the first hour.
func copyOfFig5(t *testing.T) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := app.Command(app.Registry(), &out, &errs, "show", "p4abc/fig5", "--yaml",
		"--no-paper"); code != command.Done {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
	return out.Bytes()
}

// patched applies a unified diff, as strictly as git apply: each hunk must be at its line, with its context and
// counts.
func patched(t *testing.T, text, change string) string {
	t.Helper()
	lines, made, at := strings.SplitAfter(text, "\n"), "", 0
	hunks := strings.Split(change, "\n@@ ")
	if hunks[0] != "--- a/mine.yaml\n+++ b/mine.yaml" {
		t.Fatalf("the patch begins with %q", hunks[0])
	}
	for _, hunk := range hunks[1:] {
		head, body, _ := strings.Cut(hunk, "\n")
		var from, count, to, counted, removed, added int
		if _, err := fmt.Sscanf(head, "-%d,%d +%d,%d @@", &from, &count, &to, &counted); err != nil {
			t.Fatalf("hunk %q: %v", head, err)
		}
		made += strings.Join(lines[at:from-1], "")
		if at = from - 1; strings.Count(made, "\n") != to-1 {
			t.Errorf("hunk %q begins at line %d of the result", head, strings.Count(made, "\n")+1)
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSuffix(line, "\n") + "\n"
			if line[0] != '+' {
				if lines[at] != line[1:] {
					t.Fatalf("line %d is %q, and the patch has %q", at+1, lines[at], line[1:])
				}
				at++
				removed++
			}
			if line[0] != '-' {
				made += line[1:]
				added++
			}
		}
		if removed != count || added != counted {
			t.Errorf("hunk %q has %d lines, and makes %d of them", head, removed, added)
		}
	}
	return made + strings.Join(lines[at:], "")
}

// TestFirstHourChange checks that the change of the first hour fits the copy of the experiment, and that the result
// is an experiment without warnings: client 0 uses BBR, and there is one claim.
func TestFirstHourChange(t *testing.T) {
	text := patched(t, string(copyOfFig5(t)), changeOfFirstHour(t))
	s := plantest.LoadSource(t, app.Registry(), plantest.NewSource("mine.yaml", text), experiment.Options{})
	claims := s.JudgeClaims(nil, 1)
	if len(s.Warnings()) > 0 || len(plan.ListRuns(s)) != 30 || len(claims) != 1 || claims[0].ID != "mine.cubic-lives" ||
		s.Title() != "BBR against CUBIC" {
		t.Errorf("%q: warnings %v, %d runs, claims %v", s.Title(), s.Warnings(), len(plan.ListRuns(s)), claims)
	}
	for name, want := range map[string]string{"client0": "bbr", "client1": "cubic"} {
		for id := range s.Points()[0].Entries() {
			if tr := s.Points()[0].Entry(id); tr.Name() == name {
				if cc, _ := tr.CC(); cc == nil || cc.Name != want {
					t.Errorf("%s uses %v, not %s", name, cc, want)
				}
			}
		}
	}
}
