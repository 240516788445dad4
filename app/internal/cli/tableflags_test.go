package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/study/results"
)

// TestScreenOfFile checks the properties of standard output: COLUMNS overrides all others, and a file has none.
func TestScreenOfFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for columns, width := range map[string]int{"": 0, "132": 132, "x": 0, "-5": 0, "3": 0, "20": 20, "99999999999999": 0} {
		t.Run("COLUMNS="+columns, func(t *testing.T) {
			got := detectScreen(f, func(key string) string { return map[string]string{"COLUMNS": columns}[key] })
			if got.width != width || got.color {
				t.Errorf("%+v, want %d columns without colours", got, width)
			}
		})
	}
}

// lookFile is an experiment of a few milliseconds, with two schemes.
const lookFile = `
title: Two schemes
duration: 100ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms, buffer: 10 packets}]
switch: [forward]
traffic: [{name: web, from: a, to: b, transport: tcp, cc: $cc, start: 0s}]
sweep: {scheme: {one: {cc: cubic}, two: {cc: reno}}}
repeat: 2
measure: [goodput, {queue: {port: s->b}}]
expect: [{id: some, says: some goodput, that: goodput.web > 1kbps}]
`

// TestTableFlags checks that weir run and weir report print tables in every form, with the requested columns, order
// and colours. JSON and CSV have the same bytes for any standard output.
func TestTableFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "look.yaml")
	if err := os.WriteFile(file, []byte(lookFile), 0o644); err != nil {
		t.Fatal(err)
	}
	weir := func(look screenStyle, args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := runCommand(Registry(), args, &out, &errs, false, look)
		return out.String(), errs.String(), code
	}
	text, errs, code := weir(screenStyle{}, "run", file, "--out", dir)
	if code != command.Done || strings.Contains(text, "\x1b") {
		t.Fatalf("%d, %s, %q", code, errs, text)
	}
	folders, _ := filepath.Glob(filepath.Join(dir, "look-*"))
	if len(folders) != 1 {
		t.Fatal(folders)
	}
	o, err := results.Open(Registry(), folders[0])
	if err != nil {
		t.Fatal(err)
	}
	var csv strings.Builder
	if err := o.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	terminal := screenStyle{width: 132, color: true}
	for _, c := range []struct {
		name       string
		look       screenStyle
		args       []string
		has, lacks string
	}{
		{"terminal", terminal, nil, "\x1b[1;32mholds", "\\u001b"},
		{"never", terminal, []string{"--color", "never"}, "holds      some", "\x1b"},
		{"always", screenStyle{}, []string{"--color", "always"}, "\x1b[1;32mholds", "\\u001b"},
		{"columns", screenStyle{}, []string{"--columns", "queue.max,goodput"}, "queue    goodput", "mean"},
		{"sort", screenStyle{}, []string{"--sort", "scheme:desc"}, "two", "names"},
		{"markdown", terminal, []string{"--format", "markdown"}, "| holds | some |", "\x1b"},
		{"latex", terminal, []string{"--format", "latex"}, "\\toprule", "\x1b"},
		{"json", terminal, []string{"--json"}, string(o.JSON()), "\x1b"},
		{"csv", terminal, []string{"--csv"}, csv.String(), "\x1b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := weir(c.look, append([]string{"report", folders[0]}, c.args...)...)
			if code != command.Done || !strings.Contains(out, c.has) || strings.Contains(out, c.lacks) {
				t.Errorf("%d, %s\n%s", code, errs, out)
			}
			if (c.name == "json" || c.name == "csv") && out != c.has {
				t.Error("there is more than the data")
			}
		})
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"column", []string{"--columns", "goodptu"}, `did you mean "goodput"?); allowed: goodput, queue, goodput.web`},
		{"sort", []string{"--sort", "queue"}, "sorting needs exactly one; allowed: queue.mean, queue.max"},
		{"empty", []string{"--columns", "goodput,,queue"}, "--columns or --sort has an empty name"},
		{"json", []string{"--json", "--columns", "goodput"}, "--json and --csv print every value"},
		{"two forms", []string{"--csv", "--format", "latex"}, "one of them is allowed"},
		{"form", []string{"--format", "html"}, `must be one of "text","markdown","latex"`},
		{"colour", []string{"--color", "red"}, `must be one of "auto","always","never"`},
	} {
		t.Run("not "+c.name, func(t *testing.T) {
			for _, words := range [][]string{{"report", folders[0]}, {"run", file, "--out", filepath.Join(dir, "none")}} {
				_, errs, code := weir(screenStyle{}, append(words, c.args...)...)
				if code != command.WrongInput || !strings.Contains(errs, c.want) {
					t.Errorf("%s: %d, %s", words[0], code, errs)
				}
			}
		})
	}
	if left, err := os.ReadDir(filepath.Join(dir, "none")); err == nil {
		t.Errorf("something ran before the flags were read: %v", left)
	}
}

// TestWideList checks that lists are as wide as the terminal, too.
func TestWideList(t *testing.T) {
	lines := func(width int) int {
		var out, errs bytes.Buffer
		runCommand(Registry(), []string{"list", "experiments"}, &out, &errs, false, screenStyle{width: width})
		return bytes.Count(out.Bytes(), []byte{'\n'})
	}
	if narrow, wide := lines(50), lines(132); narrow <= wide {
		t.Errorf("%d lines of 50 columns, %d of 132", narrow, wide)
	}
}
