package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// completed are lines to complete, with a word that must be among the answers and one that must not.
var completed = []struct{ line, has, not string }{
	{"weir ru", "run", "report"},
	{"weir results mer", "merge", "remove"},
	{"weir run p4abc/fig", "p4abc/fig5", "bench/tcp"},
	{"weir run mi", "mine.yaml", "p4abc/fig5"},
	{"weir run p4abc/fig5 --qui", "--quick", "--json"},
	{"weir run p4abc/fig5 --on l", "lab", "sim"},
	{"weir run p4abc/fig5 --set dur", "duration=", "repeat="},
	{"weir show ecm", "ecmp", "forward"},
	{"weir report sma", "small", "mine.yaml"},
	{"weir report results/sma", "results/small-", "mine.yaml"},
	{"weir results --js", "--json", "--out"},
}

// hasWord reports whether an answer has a word, or one that begins so if that ends with a hyphen.
func hasWord(answer, word string) bool {
	for _, w := range strings.Fields(answer) {
		if w == word || strings.HasSuffix(word, "-") && strings.HasPrefix(w, word) {
			return true
		}
	}
	return false
}

// TestCompleter_CompletesMatchingWords checks that the program completes a line for any shell. Each shell's script
// calls it.
func TestCompleter_CompletesMatchingWords(t *testing.T) {
	t.Chdir(completedFolder(t))
	for _, x := range completed {
		t.Run(x.line, func(t *testing.T) {
			code, stdout, stderr := weir("complete", "--", x.line)
			var words []string
			for line := range strings.Lines(stdout) {
				word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				if word == ":files" { // the shell lists files
					files, _ := filepath.Glob("*.yaml")
					words = append(words, files...)
				}
				words = append(words, word)
			}
			answer := strings.Join(words, " ")
			if code != command.Done || stderr != "" || !hasWord(answer, x.has) || hasWord(answer, x.not) &&
				x.not != "mine.yaml" {
				t.Errorf("exit code %d, completed as %q; want %s, and not %s; %s", code, answer, x.has, x.not, stderr)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, stdout, stderr := weir("completion", shell); code != command.Done || !strings.Contains(stdout,
			" complete -- ") {
			t.Errorf("%s: exit code %d, %s%s", shell, code, stdout, stderr)
		}
	}
}

// completedFolder returns a folder with results and with a file to complete.
func completedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	if code, _, stderr := weir("run", write(t, small), "--out", out, "--set", "duration=5ms"); code != command.Done {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCompletesAll checks that every command and flag of the model is completed.
func TestCompletesAll(t *testing.T) {
	code, stdout, stderr := weir("complete", "--", "weir ")
	for _, want := range []string{"run\tRun an experiment, print its tables and write a report\n",
		"results\t", "completion\t", "man\t"} {
		if code != command.Done || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, no %q\n%s%s", code, want, stdout, stderr)
		}
	}
	if strings.Contains(stdout, "lab-dataplane") || strings.Contains(stdout, "complete\t") {
		t.Error("hidden commands are completed")
	}
	for _, line := range []string{"", "weir", "weir nothing ", "weir run --nothing=", "weir -- -",
		"weir results remove a b c ",
		"weir run 'a", "weir run a --set=", "weir \x1b[31m"} {
		t.Run(line, func(t *testing.T) {
			if code, _, stderr := weir("complete", "--", line); code != command.Done || stderr != "" {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

// TestDocsManual checks that the manual page has every command and flag. TestManualInGroff reads it with groff.
func TestDocsManual(t *testing.T) {
	code, page, stderr := weir("man")
	if code != command.Done || stderr != "" {
		t.Fatal(code, stderr)
	}
	parser, err := newParser(registry(), &commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(true) {
		if !strings.Contains(page, "\n.SS "+quoteRoff(n.FullPath())+"\n") {
			t.Errorf("%s is not in it", n.FullPath())
		}
		for _, f := range n.Flags {
			if !f.Hidden && !strings.Contains(page, "\n.B "+quoteRoff(flagTerm(f))+"\n") {
				t.Errorf("%s of %s is not in it", flagTerm(f), n.FullPath())
			}
		}
	}
}
