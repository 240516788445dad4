package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
)

// edit replaces old text with new text, for each pair. Each old text must occur.
func edit(t *testing.T, text string, pairs []string) string {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// write makes a folder with the experiment and the files that it names, and returns the folder and the files.
func (b *bad) write(t *testing.T) (dir string, written map[string]string) {
	t.Helper()
	dir = t.TempDir()
	experiment := edit(t, b.text, b.edits)
	written = map[string]string{"bad.yaml": experiment}
	for name, text := range files {
		switch e := b.files[name]; {
		case len(e) == 1:
			written[name] = e[0]
		case len(e) > 1:
			written[name] = edit(t, text, e)
		case strings.Contains(experiment, name):
			written[name] = text
		}
	}
	if strings.Contains(experiment+b.run, "folder") {
		if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range written {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, written
}

// refused runs a spoilt experiment and returns everything on stderr without the folder's name. The second text is the
// error with the names of another registry.
func (b *bad) refused(t *testing.T, other *experiment.Registry) (text, otherText string) {
	t.Helper()
	dir, written := b.write(t)
	out := filepath.Join(dir, "out")
	var stdout, stderr bytes.Buffer
	run := filepath.Join(dir, "bad.yaml")
	if b.run != "" {
		run = filepath.Join(dir, b.run)
	}
	code := Run(Registry(), []string{"run", run, "--out", out}, &stdout, &stderr, false)
	if code != command.WrongInput {
		t.Errorf("exit code %d, want %d", code, command.WrongInput)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout: %s", stdout.String())
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the results folder: %v", err)
	}
	inFolder := dir + string(filepath.Separator)
	text = strings.ReplaceAll(stderr.String(), inFolder, "")
	wellFormed(t, text, written)
	for _, data := range written {
		if len(data) >= megabytes { // reading it once more is expensive, and its error lists no names
			return text, text
		}
	}

	src, err := other.OpenExperiment(run)
	if err == nil {
		_, err = plan.Load(other, src, experiment.Options{})
	}
	if err == nil {
		t.Fatal("the other registry accepts the file")
	}
	return text, "weir: " + strings.ReplaceAll(err.Error(), inFolder, "") + "\n"
}

var message = regexp.MustCompile(`^(?:weir: )?([^ :]+):(\d+):(\d+): .`)

// wellFormed checks that a text is one message. The message names a place that is in the file or at its end. That line
// of the file and a caret below the place follow.
func wellFormed(t *testing.T, said string, written map[string]string) {
	t.Helper()
	for _, r := range said {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%q is not for a terminal", r)
		}
	}
	if !utf8.ValidString(said) {
		t.Error("this is not UTF-8")
	}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	m := message.FindStringSubmatch(lines[0])
	if strings.HasPrefix(lines[0], "weir: unknown experiment or file \"") { // the message names the input
		return
	}
	if m == nil {
		t.Errorf("no place: %s", lines[0])
		return
	}
	text, ok := written[m[1]]
	if !ok || len(text) > int(document.MaxFile) { // the file itself is what is wrong
		return
	}
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	of := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if line > len(of)+1 {
		t.Errorf("line %d of %d", line, len(of))
		return
	}
	if line == len(of)+1 || of[line-1] == "" { // the file's end
		if column != 1 || len(lines) != 1 {
			t.Errorf("column %d, %d lines", column, len(lines))
		}
		return
	}
	here := []rune(of[line-1])
	if column > len(here)+1 {
		t.Errorf("column %d of %d", column, len(here))
		return
	}
	if len(lines)%3 != 0 {
		t.Errorf("%d lines: want of each the message, the file's line, and the caret", len(lines))
		return
	}
	for _, l := range lines[1:] {
		if n := utf8.RuneCountInString(l); n > 140 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	excerpt, caret := []rune(lines[1]), strings.IndexByte(lines[2], '^')
	if column <= len(here) && strconv.IsPrint(here[column-1]) && here[column-1] != utf8.RuneError {
		if caret < 0 || caret >= len(excerpt) || excerpt[caret] != here[column-1] {
			t.Errorf("the caret is not below %q of column %d", here[column-1], column)
		}
	}
}

// TestBadInput checks that each entry of the list of bad input gets one message with file, line, column, excerpt
// and the allowed values. The exit code is 2, and no file is written. A registry with more names does not change
// the golden file.
func TestBadInput(t *testing.T) {
	var texts, others testkit.ErrorTexts
	more := withDummies()
	for _, g := range badInput {
		texts.Heading(g.heading)
		others.Heading(g.heading)
		for _, b := range g.cases {
			t.Run(g.heading+"/"+b.name, func(t *testing.T) {
				text, other := b.refused(t, more)
				texts.AddError(t, b.name, text, b.full)
				others.AddError(t, b.name, other, b.full)
			})
		}
	}
	if n := texts.CountMarked(); n != wantFullTexts {
		t.Errorf("%d errors have their full text in the golden file, want %d", n, wantFullTexts)
	}
	testkit.Golden(t, "badinput.txt", texts.String())
	if !testkit.IsUpdating() {
		testkit.Golden(t, "badinput.txt", others.String())
	}
}
