package experiment_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// keyed is an experiment in which each table's map is on a line of its own, which ends before the brace: a test adds
// one more key there.
const keyed = `duration: 10s
repeat: {measure: goodput.x, until: 2%}
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 100Mbps, delay: 1ms}
switches:
  "*": {programs: [forward], recirculation: {rate: 1Gbps}, clock: {drift: 1ppm}}
traffic:
  - {name: x, from: a, to: b, transport: udp, rate: $r}
  - {name: y, from: {random: 1}, to: {stride: 1}, transport: udp, rate: 1Mbps, size: 1MB}
  - {name: z, from: a, to: b, transport: udp, rate: 1Mbps, start: 0s, sets: {count: 2, interval: 100ms}}
  - {name: v, from: a, to: b, transport: udp, rate: 1Mbps, sizes: {file: sizes.txt}}
  - {name: w, pairs: [[a, b]], transport: udp, rate: 1Mbps, ports: {from: 1000, to: 2000}}
  - {name: f, file: flows.txt, format: hpcc, transport: udp, rate: 1Mbps}
events: [{at: 500ms, link: [a, s], down: true}]
stalls: {every: 2s, length: 2ms}
sweep: {r: [1Mbps, 2Mbps]}
measure: [{goodput: {every: 1s}}]
plot: [{x: time, y: goodput}]
expect: [{id: i, says: s, that: goodput.x > 0}]
paper: {name: p, values: [{goodput.x: 1Mbps, source: s}]}
`

// filed has its network in a file.
const filed = `duration: 10s
topology:
  {file: fat.txt, format: hpcc}
switch: [forward]
traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps}]
`

// files are the files that keyed and filed name.
var files = map[string]string{"sizes.txt": "1000 50\n2000 100\n", "flows.txt": "1\n0 1 3 100 1000 0.1\n",
	"fat.txt": "3 1 2\n2\n0 2 100Mbps 1ms 0\n2 1 100Mbps 1ms 0\n"}

func keyedFile(text string) *experiment.Source {
	s := file("keys.yaml", text)
	s.Open = func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	return s
}

// beside has for each table the text of keyed behind which a key of the table can be added.
var beside = map[string]string{"link": "{ends: [a, s]", "switches": "{programs: [forward]",
	"recirculation": "{rate: 1Gbps", "clock": "{drift: 1ppm", "traffic": "{name: x", "from": "from: {random: 1",
	"to": "{stride: 1", "sets": "{count: 2", "ports": "{from: 1000", "sizes": "{file: sizes.txt", "events": "{at: 500ms",
	"stalls": "{every: 2s", "repeat": "{measure: goodput.x",
	"plot": "{x: time", "expect": "{id: i", "paper": "{name: p", "values": "{goodput.x: 1Mbps"}

// TestDecoderKnowsKeys checks that the decoder reads every key of the tables: a value that no key takes is an error at
// its place. It reads only through the tables, which panic at other keys.
func TestDecoderKnowsKeys(t *testing.T) {
	for _, text := range []string{keyed, filed} {
		if _, err := plan.Load(room(), keyedFile(text), experiment.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range experiment.Tables {
		for _, k := range x.Table.Keys {
			t.Run(x.Name+"/"+k.Name, func(t *testing.T) {
				text := strayKey(x.Name, k.Name)
				_, err := plan.Load(room(), keyedFile(text), experiment.Options{})
				var wrong document.InputErrors
				if !errors.As(err, &wrong) {
					t.Fatalf("nothing reads %s: %v", k.Name, err)
				}
				for _, e := range wrong {
					if strings.Contains(e.Msg, "unknown ") && strings.Contains(e.Msg, `"`+k.Name+`"`) {
						t.Errorf("the decoder does not know %s: %v", k.Name, e)
					}
				}
			})
		}
	}
}

// TestKeysAreDeclared checks that code of the study reads a key by its name only through a table, so that undeclared
// keys cannot be read.
func TestKeysAreDeclared(t *testing.T) {
	read := 0
	for _, f := range sources(t, "..") {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			name, literal := call.Args[0].(*ast.BasicLit)
			switch {
			case !ok || !literal:
			case method.Sel.Name == "Find":
				t.Errorf("%v: the key %s is read past the tables", positions.Position(call.Pos()), name.Value)
			case method.Sel.Name == "Get":
				read++
			}
			return true
		})
	}
	if read < 50 {
		t.Errorf("%d keys are read, which are not all", read)
	}
	for _, wrong := range []struct {
		name string
		read func(document.Map)
	}{
		{"a key", func(m document.Map) { m.Get("stride") }},
		{"a default", func(m document.Map) { m.GetDefault("stride") }},
		{"names", func(m document.Map) { m.GetEntries("random") }},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "but not declared: from key") {
					t.Errorf("it can be read: %q", text)
				}
			}()
			for _, x := range experiment.Tables {
				if x.Name == "from" {
					wrong.read(x.Table.ViewMap(&document.Node{Kind: document.Mapping}))
				}
			}
		})
	}
}

var positions = token.NewFileSet()

// sources returns the Go files below a folder, except for tests. It leaves out what the go command ignores, nested
// modules, and files that are not Go: if one of these belongs to a package, the compiler reports it.
func sources(t *testing.T, root string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		base := e.Name()
		if e.IsDir() {
			_, err := os.Lstat(filepath.Join(name, "go.mod"))
			if err == nil || base[0] == '.' || base[0] == '_' || base == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || base[0] == '.' || base[0] == '_' || !strings.HasSuffix(base, ".go") ||
			strings.HasSuffix(base, "_test.go") {
			return nil
		}
		if f, err := parser.ParseFile(positions, name, nil, 0); err == nil {
			files = append(files, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// strayKey returns keyed with a value that no key takes, for one of a table's keys.
func strayKey(table, key string) string {
	const stray = "[[stray]]"
	text, at := keyed, beside[table]
	switch {
	case table == "top-level":
		own := regexp.MustCompile(`(?m)^` + key + `:.*\n( .*\n)*`)
		return key + ": " + stray + "\n" + own.ReplaceAllString(keyed, "")
	case table == "topology" && slices.Contains([]string{"file", "format", "rest"}, key):
		text, at = filed, "{file: fat.txt"
	case table == "topology":
		own := regexp.MustCompile(`(?m)^  ` + key + `: .*\n|^  ` + key + `:\n(    .*\n)*`)
		return own.ReplaceAllString(keyed, "  "+key+": "+stray+"\n")
	case table == "traffic" && slices.Contains([]string{"file", "format", "offset", "time_unit", "port", "rest"}, key):
		at = "{name: f"
	}
	i := strings.Index(text, at)
	line := text[i : i+strings.Index(text[i:], "\n")]
	own := regexp.MustCompile(`[{ ]` + key + `: (\[[^\]]*\]|\{[^}]*\}|[^,}]*)`)
	if loc := own.FindStringSubmatchIndex(line); loc != nil {
		return text[:i] + line[:loc[2]] + stray + line[loc[3]:] + text[i+len(line):]
	}
	return text[:i] + at + ", " + key + ": " + stray + text[i+len(at):]
}

// TestSchemaKnowsKeys checks that the schema has the table's keys, with the same ones required.
func TestSchemaKnowsKeys(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(room().WriteSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any // all maps that have keys of their own
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if p, ok := v["properties"].(map[string]any); ok {
				objects = append(objects, p)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(schema)
	tables := slices.Clone(experiment.Tables)
	for _, k := range measure.Definitions() {
		tables = append(tables, struct {
			Name  string
			Table *document.Table
		}{k.Name, k.Table()})
	}
	for _, x := range tables {
		t.Run(x.Name, func(t *testing.T) {
			if !slices.ContainsFunc(objects, func(p map[string]any) bool {
				for _, k := range x.Table.Keys {
					if _, ok := p[k.Name]; !ok {
						return false
					}
				}
				return x.Table.Open != "" || len(p) == len(x.Table.Keys)
			}) {
				t.Errorf("the schema has no map with the keys %v", x.Table.KeyNames())
			}
		})
	}
}

// TestDocsReference checks that the tables of keys in docs/spec.md are the code's.
func TestDocsReference(t *testing.T) {
	const name = "../../docs/spec.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	begin := regexp.MustCompile(`(?s)<!-- keys: ([a-z-]+) -->\n(.*?)<!-- end -->`)
	var named []string
	want := begin.ReplaceAllStringFunc(string(data), func(s string) string {
		table := begin.FindStringSubmatch(s)[1]
		named = append(named, table)
		return "<!-- keys: " + table + " -->\n" + reference(t, table) + "<!-- end -->"
	})
	for _, x := range experiment.Tables {
		if x.Name != "from" && x.Name != "to" && !slices.Contains(named, x.Name) { // these stand in prose
			t.Errorf("%s has no table of the keys of %s", name, x.Name)
		}
	}
	if !slices.Contains(named, "measures") {
		t.Errorf("%s has no table of measures", name)
	}
	testkit.GoldenFile(t, name, want)
}

// reference returns a table of keys as docs/spec.md has it.
func reference(t *testing.T, table string) string {
	var b strings.Builder
	if table == "measures" {
		b.WriteString("| name | what it gives | options |\n|---|---|---|\n")
		for _, k := range measure.Definitions() {
			var options []string
			for _, o := range k.Keys {
				text := "`" + o.Name + "`: " + o.Form.Text + ", " + o.Doc
				if d := standard(&o); d != "" {
					text += " (" + d + ")"
				}
				options = append(options, text)
			}
			b.WriteString("| `" + k.Name + "` | " + k.Doc + " | " + strings.Join(options, "; ") + " |\n")
		}
		return b.String()
	}
	b.WriteString("| key | value | what it is | default |\n|---|---|---|---|\n")
	for _, x := range experiment.Tables {
		if x.Name != table {
			continue
		}
		for i := range x.Table.Keys {
			k := &x.Table.Keys[i]
			b.WriteString("| `" + k.Name + "` | " + k.Form.Text + " | " + k.Doc + " | " + standard(k) + " |\n")
		}
		return b.String()
	}
	t.Fatalf("docs/spec.md wants the table %q, which there is none of", table)
	return ""
}

// standard returns the text for a key's default.
func standard(k *document.Key) string {
	switch {
	case k.Required:
		return "required"
	case k.Default == "":
		return k.Without
	}
	text := "`" + k.Default + "`"
	for _, c := range k.Cases {
		text += "; " + c.When + ": `" + c.Default + "`"
	}
	return text
}
