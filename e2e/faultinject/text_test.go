package faultinject

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/command"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
)

// weir runs a command line as on a terminal, and returns its exit code and output.
func weir(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = app.Command(app.Registry(), &out, &errs, args...)
	return code, out.String(), errs.String()
}

// named is an experiment with a place for each kind of name that a file gives.
const named = `title: TITLE
duration: 20ms
topology:
  hosts: [NODE, b]
  switches: [s]
  links: [{ends: [NODE, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 9 packets}]
switch: [forward]
traffic: [{name: TRAFFIC, from: NODE, to: b, transport: udp, rate: $rate, start: 0s}]
sweep:
  KEY: {VALUE: {switch: [forward]}, other: {switch: [ecmp]}}
  rate: [1Mbps, 5Mbps]
measure: [goodput, {queue: {port: s->b}}]
plot: [{x: rate, y: goodput}, {x: KEY, y: goodput}]
expect:
  - {id: CLAIM, says: SAYS, that: queue.p99 >= 0}
`

// names are the values of a file without an attack.
var names = map[string]string{"TITLE": "plain", "NODE": "a", "TRAFFIC": "t", "KEY": "key", "VALUE": "one", "CLAIM": "c",
	"SAYS": "something is sent"}

// with returns the experiment with some names replaced.
func with(other map[string]string) string {
	var pairs []string
	for k, v := range names {
		if o, ok := other[k]; ok {
			v = o
		}
		pairs = append(pairs, k, v)
	}
	return strings.NewReplacer(pairs...).Replace(named)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// silent checks that no character of a text acts on a terminal.
func silent(t *testing.T, what, s string) {
	t.Helper()
	if shown := text.EscapeLines(s); shown != s {
		at, _, _ := text.FindActing(strings.NewReplacer("\n", " ", "\t", " ").Replace(s))
		t.Errorf("%s would act on a terminal: %q", what, s[max(0, at-40):min(len(s), at+40)])
	}
}

// TestNamesThatAct checks that control characters, bidirectional marks and invisible characters are refused in
// every name and text of a file, as characters or as escapes of YAML. The error has the place, and shows the
// character as an escape.
func TestNamesThatAct(t *testing.T) {
	known := app.Registry()
	places := map[string]string{"TITLE": "1:", "NODE": "4:", "TRAFFIC": "8:", "KEY": "10:", "VALUE": "10:", "CLAIM": "15:",
		"SAYS": "15:"}
	for _, x := range []struct{ name, in, shown string }{
		{"escape", "a\x1b[31m", `\u001b`}, {"YAML's escape", `"a\e[31m"`, `\u001b`}, {"a bell", `"a\a"`, `\u0007`},
		{"a number", `"a\x1bb"`, `\u001b`}, {"a line", `"a\nb"`, `\u000a`}, {"8-bit CSI", "a\u009b31m", `\u009b`},
		{"turned", "a\u202eb", `\u202e`}, {"turned by escape", `"a\u202eb"`, `\u202e`}, {"isolate", "a\u2066b", `\u2066`},
		{"mark", "a\u200fb", `\u200f`}, {"no width", "a\u200bb", `\u200b`}, {"byte order", "a\ufeffb", `\ufeff`},
		{"tag", "a\U000e0041b", `\udb40\udc41`}, {"delete", "a\x7fb", `\u007f`},
	} {
		for place, line := range places {
			t.Run(x.name+" in "+place, func(t *testing.T) {
				_, err := plan.Load(known, &experiment.Source{Name: "names", File: "names.yaml",
					Data: []byte(with(map[string]string{place: x.in}))}, experiment.Options{})
				if err == nil || !strings.Contains(err.Error(), "names.yaml:"+line) || !strings.Contains(err.Error(), x.shown) {
					t.Fatalf("it gives %v; want line %s and %s", err, line, x.shown)
				}
				silent(t, "the message", err.Error())
			})
		}
	}
}

// TestColumnOfEscape checks that the error for a character that YAML writes as an escape has the column of the
// escape.
func TestColumnOfEscape(t *testing.T) {
	_, _, errs := weir("check", write(t, "title.yaml", `title: "\\e \t1 a\eb"`+"\nduration: 1ms\n"))
	if want := `title.yaml:1:13: the text contains the control character \u0009`; !strings.Contains(errs, want) {
		t.Errorf("%s; want %s", errs, want)
	}
	_, _, errs = weir("check", write(t, "title.yaml", `title: "\\e 1 a\u001bb"`+"\nduration: 1ms\n"))
	if want := `title.yaml:1:16: the text contains the control character \u001b`; !strings.Contains(errs, want) {
		t.Errorf("%s; want %s", errs, want)
	}
}

// TestArgumentsThatAct checks the names on the command line, too: values and keys of --set, files, folders.
func TestArgumentsThatAct(t *testing.T) {
	file := write(t, "plain.yaml", with(nil))
	for _, x := range []struct {
		name string
		args []string
		want string
	}{
		{"--set, value", []string{"check", file, "--set", "title=a\x1b[2J"}, `control character \u001b`},
		{"--set, escape", []string{"check", file, "--set", `title="a\e[2J"`}, `control character \u001b`},
		{"--set, key", []string{"check", file, "--set", "topology.a\u202eb=1"}, `the character \u202e`},
		{"--set, text", []string{"check", file, "--set", "a\x1b[2J"}, `--set a\u001b[2J`},
		{"file", []string{"check", "no\x1b]0;x\asuch"}, `no\u001b]0;x\u0007such`},
		{"flag", []string{"check", file, "--bog\x1b[2Jus"}, "unknown flag"},
		{"command", []string{"\u202echeck"}, "unexpected argument"},
		{"folder", []string{"report", "no\x1bsuch"}, `no\u001bsuch`},
		{"trace", []string{"trace", "no\x1bsuch.txt"}, `no\u001bsuch`},
		{"import", []string{"import", "no\x1bsuch.txt"}, `no\u001bsuch`},
		{"port", []string{"trace", file, "--kind", "a\x1b"}, `a\u001b`},
		{"switch", []string{"switch", "--check", "-c", "no\x1bsuch"}, `no\u001bsuch`},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := weir(x.args...)
			if code == command.Done || !strings.Contains(errs, x.want) {
				t.Errorf("exit code %d: %q, want %q", code, errs, x.want)
			}
			silent(t, "the message", out+errs)
		})
	}
}

// hostileNames are names that a file may give, and that have a meaning in the format of an output: formulas of
// spreadsheets, markup, quotes, separators, format verbs.
var hostileNames = map[string]string{
	"TITLE": `"=HYPERLINK(\"http://x\",\"y\") <script>alert(1)</script> & \" ' ]]> %s"`,
	"NODE":  `"-h"`, "KEY": `"=1+1|'x'!A0"`, "VALUE": `"-v <b>&amp; \"x\" %d"`,
	"CLAIM": `"=c"`, "SAYS": `"@SUM(1+1)*cmd|' /C calc'!A0 <img src=x onerror=y>"`,
}

// TestOutputs_EscapeHostileNames runs each command on an experiment with a hostile file name, folder, names and
// texts. Outputs must be plain text, documents must be valid in their formats, and the names must come back
// unchanged when a reader parses them.
func TestOutputs_EscapeHostileNames(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out\x1b[2J\u202e")
	file := write(t, "=e\x1b]0;x\a\u2066<b>&\".yaml", with(hostileNames))
	args := []string{file, "--out", out}
	code, tables, errs := weir(append([]string{"run", "--trace", "*", "--set", `title="=<set> & \" title"`}, args...)...)
	if code != command.Done {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	silent(t, "weir run", tables+errs)
	dirs := in(t, out)
	if len(dirs) != 1 {
		t.Fatalf("%d folders", len(dirs))
	}
	for _, args := range [][]string{{"check", file}, {"show", file}, {"show", "--yaml", file}, {"report", dirs[0]},
		{"diff", dirs[0], dirs[0]}, {"show", "--footprint", file}} {
		code, text, errs := weir(args...)
		if code != command.Done {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
		silent(t, args[0], text+errs)
	}
	traces := in(t, filepath.Join(dirs[0], "traces"))
	read := 0
	for _, trace := range traces {
		if form := filepath.Ext(trace); form != ".txt" && form != ".pcapng" && form != ".parquet" {
			continue // what vouches for them
		}
		read++
		for _, args := range [][]string{{"trace", trace}, {"trace", trace, "--events"}} {
			code, text, errs := weir(args...)
			if code != command.Done {
				t.Errorf("%v: exit code %d: %s", args, code, errs)
			}
			silent(t, args[0], text+errs)
		}
	}
	if read == 0 {
		t.Error("there is no trace")
	}
	isTable(t, dirs[0])
	isDocument(t, dirs[0])
	files(t, dirs[0])
}

// in returns the files of a folder. The folder's name may be a pattern.
func in(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, filepath.Join(dir, f.Name()))
	}
	return names
}

// isTable checks the lines of --csv: no cell is a formula.
func isTable(t *testing.T, dir string) {
	_, out, _ := weir("report", "--csv", dir)
	silent(t, "--csv", out)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) < 10 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, cell := range append(rows[0], rows[1]...) {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			t.Errorf("the cell %q is a formula", cell)
		}
	}
	if !strings.Contains(out, `'=1+1|'x'!A0`) {
		t.Error("the sweep's key is not among the columns")
	}
}

// isDocument checks that the output of --json is a document with the experiment's name.
func isDocument(t *testing.T, dir string) {
	_, out, _ := weir("report", "--json", dir)
	silent(t, "--json", out)
	var doc struct{ Experiment string }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Experiment != "=e\x1b]0;x\a\u2066<b>&\"" {
		t.Errorf("%v: the experiment is %q", err, doc.Experiment)
	}
}

// files reads each file of a results folder in its own format.
func files(t *testing.T, dir string) {
	found := map[string]int{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		kind := filepath.Ext(name)
		found[kind]++
		switch kind {
		case ".svg":
			err = wellFormed(data)
		case ".json":
			if !json.Valid(data) {
				err = errors.New("it is not JSON")
			}
		case ".html":
			for _, bad := range []string{"<script", "<img", "<set>", "onerror=y>"} {
				if bytes.Contains(data, []byte(bad)) {
					err = fmt.Errorf("it has %s of the experiment", bad)
				}
			}
		case ".yaml":
		case ".sha256":
		default:
			return nil // no text
		}
		if err != nil {
			t.Errorf("%q: %v", filepath.Base(name), err)
		}
		silent(t, filepath.Base(name), string(data))
		return nil
	})
	if err != nil || found[".svg"] != 2 || found[".html"] != 2 || found[".json"] < 6 || found[".yaml"] != 1 {
		t.Errorf("%v: %v", found, err)
	}
}

// wellFormed reads XML to its end.
func wellFormed(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
