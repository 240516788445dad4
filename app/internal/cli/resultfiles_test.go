//go:build !race

// Left out of race: every kind of results file is read and checked, without goroutines.

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"weir/internal/command"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// kinds are short experiments whose results contain, together, every part of the simulator's results: series,
// distributions, histograms, bins, PFC, drops, unfinished flows, claims, seeds by need, ratios, undefined values.
var kinds = map[string]string{
	"tcp": `duration: 400ms
repeat: 2
topology: {dumbbell: {hosts: 2, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms, buffer: 20 packets}}
switch: [forward]
traffic:
  - {name: w, from: left0, to: right0, transport: tcp, cc: $cc, size: 60kB, flows: 12, start: 0s..200ms}
  - {name: long, from: left1, to: right1, transport: tcp, size: 100MB, start: 0s}
sweep: {cc: [reno, cubic]}
measure: [{fct: {bins: 2}}, slowdown, {cwnd: {every: 20ms}}, {goodput: {every: 50ms}}, drops, delay, unfinished,
  {queue: {port: left->right, every: 1ms}}, state]
ratio: [{of: goodput, over: {cc: reno}}]
expect: [{id: most, says: most of the link is used, that: goodput.w + goodput.long > 5Mbps}]
`,
	"pfc": `duration: 2ms
topology: {star: {hosts: 3, rate: 10Gbps, delay: 1us}}
switch: [forward, {shared_buffer: {size: 200kB}}, pfc]
traffic: [{name: x, from: [h0, h1], to: h2, transport: rdma, cc: hpcc, size: 1MB, start: 0s}]
measure: [{pfc_pause: {log: true}}, {queue: {switches: "*", every: 10us, unit: bytes, log: true}}, fct]
`,
	"need": `duration: 300ms
repeat: {measure: goodput.x, until: 50%, least: 2, most: 3}
topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms}}
switch: [forward]
traffic: [{name: x, from: left0, to: right0, transport: udp, rate: 2Mbps}]
measure: [goodput]
`,
}

// resultFolders runs the experiments in kinds, one with a trace, and returns their folders by name.
func resultFolders(t *testing.T) map[string]string {
	t.Helper()
	dir, folders := t.TempDir(), map[string]string{}
	for name, text := range kinds {
		experiment, out := filepath.Join(dir, name+".yaml"), filepath.Join(dir, "results of "+name)
		if err := os.WriteFile(experiment, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		args := []string{"run", experiment, "--out", out}
		if name == "need" {
			args = append(args, "--trace", "left->right")
		}
		var stdout, stderr bytes.Buffer
		if code := Run(Registry(), args, &stdout, &stderr, false); code != command.Done {
			t.Fatalf("%s: exit code %d\n%s", name, code, &stderr)
		}
		found, err := filepath.Glob(filepath.Join(out, "*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		folders[name] = found[0]
	}
	return folders
}

// schemaOf compiles the output of weir schema NAME.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"schema", name}, &out, &errs, false); code != command.Done {
		t.Fatal(errs.String())
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///weir.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///weir.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestResultSchemas checks that every JSON file of results conforms to its schema. A file with a value of another
// type, an additional key or a missing key does not.
func TestResultSchemas(t *testing.T) {
	schemas, mutants := map[string]*jsonschema.Schema{}, 0
	for _, name := range []string{"runs.json", "run.json", "origin.json", "host.json"} {
		schemas[name] = schemaOf(t, name)
	}
	keys := map[string]bool{}
	for name, folder := range resultFolders(t) {
		files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
		runs, _ := filepath.Glob(filepath.Join(folder, "runs", "*.json"))
		for _, path := range append(files, runs...) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			of := filepath.Base(path)
			if filepath.Base(filepath.Dir(path)) == "runs" {
				of = "run.json"
			}
			s := schemas[of]
			if s == nil {
				t.Errorf("there is no schema of %s", of)
				continue
			}
			doc := func() any {
				x, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			if err := s.Validate(doc()); err != nil {
				t.Errorf("%s: %s: %v", name, of, err)
				continue
			}
			whole := doc()
			collect(whole, keys)
			for _, m := range mutate(whole) {
				m.apply()
				if mutants++; s.Validate(whole) == nil {
					t.Errorf("%s: %s: it takes %s", name, of, m.what)
				}
				m.undo()
			}
		}
	}
	if mutants < 300 {
		t.Errorf("only %d mutants", mutants)
	}
	for _, want := range []string{"series", "distributions", "histograms", "bins", "pfc", "unfinished", "claims", "seeds",
		"flows", "drops", "waits_for", "verdict", "parameters", "executable_sha256"} {
		if !keys[want] {
			t.Errorf("no file has %q", want)
		}
	}
}

// collect adds all keys of a document to the set.
func collect(x any, keys map[string]bool) {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			keys[k] = true
			collect(v, keys)
		}
	case []any:
		for _, v := range x {
			collect(v, keys)
		}
	}
}

// mutation is one change of a document, in place.
type mutation struct {
	what        string
	apply, undo func()
}

// open are objects whose keys are names of the experiment, so that additional and missing keys are allowed.
var open = map[string]bool{"measures": true, "point": true, "drops": true}

// mutate lists changes of a document: another type for each value (in lists only the first), an unknown key, and
// the removal of each top-level key that every file has.
func mutate(doc any) (all []mutation) {
	top := doc.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(top)) {
		if !slices.Contains([]string{"unfinished", "bins", "attempts", "series", "distributions", "histograms", "flows",
			"pfc", "programs", "seeds", "executions"}, k) {
			v := top[k]
			all = append(all, mutation{"a file without " + k, func() { delete(top, k) }, func() { top[k] = v }})
		}
	}
	var walk func(x any, path string, of string)
	walk = func(x any, path, of string) {
		change := func(at string, v any, set func(any)) {
			var other any = []any{} // no value of these files is a list or an object
			switch v.(type) {
			case nil: // may be a list elsewhere
				return
			case []any:
				other = map[string]any{"strange": json.Number("1")}
			case map[string]any:
				other = "strange"
			}
			all = append(all, mutation{fmt.Sprintf("%v at %s", other, at), func() { set(other) }, func() { set(v) }})
		}
		switch x := x.(type) {
		case map[string]any:
			if !open[of] && !strings.Contains(path, ".measures.") {
				all = append(all, mutation{"a strange key in " + path, func() { x["strange"] = "" },
					func() { delete(x, "strange") }})
			}
			for _, k := range slices.Sorted(maps.Keys(x)) {
				change(path+"."+k, x[k], func(v any) { x[k] = v })
				walk(x[k], path+"."+k, k)
			}
		case []any:
			for i := range x[:min(len(x), 1)] {
				change(fmt.Sprintf("%s[%d]", path, i), x[i], func(v any) { x[i] = v })
				walk(x[i], path+"[]", of+"[]")
			}
		}
	}
	walk(doc, "", "")
	return all
}

// TestSchemaNames checks that schemas are available together and one by one. Other names are refused.
func TestSchemaNames(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"schema", "results"}, &out, &errs, false); code != command.Done {
		t.Fatal(errs.String())
	}
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs.json", "run.json", "origin.json", "host.json", "flows.parquet", "series.parquet",
		"timeline.parquet", "trace.parquet"} {
		if doc.Defs[name] == nil {
			t.Errorf("all together lack %s", name)
		}
		schemaOf(t, name)
	}
	if code := Run(Registry(), []string{"schema", "spec.yaml"}, &out, &errs, false); code != command.WrongInput ||
		!strings.Contains(errs.String(),
			`there is no schema with the name "spec.yaml"; allowed: experiment, results, runs.json,`) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// TestParquetElsewhere checks that Apache's reader of Parquet finds the content of the schemas and of the CSV files.
func TestParquetElsewhere(t *testing.T) {
	folders := resultFolders(t)
	trace, _ := filepath.Glob(filepath.Join(folders["need"], "traces", "*.parquet"))
	if len(trace) == 0 {
		t.Fatal("there is no trace")
	}
	into := t.TempDir()
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"export", "results", folders["tcp"], "--format", "csv", "--into", into}, &out,
		&errs, false); code != command.Done {
		t.Fatal(errs.String())
	}
	for _, x := range []struct{ schema, path, csv string }{
		{"flows.parquet", filepath.Join(folders["tcp"], "flows.parquet"), "flows.csv"},
		{"series.parquet", filepath.Join(folders["tcp"], "series.parquet"), "series.csv"},
		{"trace.parquet", trace[0], ""},
	} {
		t.Run(x.schema, func(t *testing.T) {
			names, rows := arrowRows(t, x.path)
			if len(rows) < 20 {
				t.Fatalf("%d rows", len(rows))
			}
			s := schemaOf(t, x.schema)
			for i, row := range rows {
				o := map[string]any{}
				for k, name := range names {
					if o[name] = row[k]; row[k] != nil {
						if n, is := row[k].(int64); is {
							o[name] = json.Number(fmt.Sprint(n))
						}
					}
				}
				if err := s.Validate(o); err != nil {
					t.Fatalf("row %d: %v", i, err)
				}
			}
			if x.csv == "" {
				return
			}
			data, err := os.ReadFile(filepath.Join(into, x.csv))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			if len(lines) != 1+len(rows) || lines[0] != strings.Join(names, ",") {
				t.Fatalf("%d lines and %d rows; %s, not %v", len(lines), len(rows), lines[0], names)
			}
			for i, row := range rows {
				var cells []string
				for _, v := range row {
					if v == nil {
						v = ""
					}
					cells = append(cells, fmt.Sprint(v))
				}
				if got := strings.Join(cells, ","); got != lines[i+1] {
					t.Fatalf("row %d is %s, and in CSV %s", i, got, lines[i+1])
				}
			}
		})
	}
}

// arrowRows reads a Parquet file with Apache Arrow's library, which shares no code with ours.
func arrowRows(t *testing.T, path string) (names []string, rows [][]any) {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	schema := f.MetaData().Schema
	for i := range schema.NumColumns() {
		names = append(names, schema.Column(i).Name())
	}
	for g := range f.NumRowGroups() {
		group := f.RowGroup(g)
		first, n := len(rows), group.NumRows()
		for range n {
			rows = append(rows, make([]any, len(names)))
		}
		for c := range names {
			column, err := group.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			values, levels, err := arrowColumn(column, n)
			if err != nil {
				t.Fatal(err)
			}
			most := schema.Column(c).MaxDefinitionLevel()
			for i, k := 0, 0; i < int(n); i++ {
				if most > 0 && levels[i] < most {
					continue
				}
				rows[first+i][c] = values[k]
				k++
			}
		}
	}
	return names, rows
}

// arrowColumn reads n rows of a column.
func arrowColumn(r file.ColumnChunkReader, n int64) (values []any, levels []int16, err error) {
	switch r := r.(type) {
	case *file.Int32ColumnChunkReader:
		return batches(n, r.ReadBatch, func(v int32) any { return int64(v) })
	case *file.Int64ColumnChunkReader:
		return batches(n, r.ReadBatch, func(v int64) any { return v })
	case *file.Float64ColumnChunkReader:
		return batches(n, r.ReadBatch, func(v float64) any { return json.Number(strconv.FormatFloat(v, 'g', -1, 64)) })
	case *file.ByteArrayColumnChunkReader:
		return batches(n, r.ReadBatch, func(v parquet.ByteArray) any { return string(v) })
	}
	return nil, nil, fmt.Errorf("a column of type %v", r.Type())
}

// batches reads until it has n rows.
func batches[T any](n int64, read func(int64, []T, []int16, []int16) (int64, int, error),
	value func(T) any) (values []any, levels []int16, err error) {
	for int64(len(levels)) < n {
		some, defined := make([]T, n), make([]int16, n)
		rows, k, err := read(n-int64(len(levels)), some, defined, nil)
		if err != nil || rows == 0 {
			return nil, nil, fmt.Errorf("%d of %d rows: %v", len(levels), n, err)
		}
		levels = append(levels, defined[:rows]...)
		for _, v := range some[:k] {
			values = append(values, value(v))
		}
	}
	return values, levels, nil
}
