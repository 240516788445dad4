package results

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/internal/testkit"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
)

// TestSchemasFit checks that the schemas have exactly the fields of the files' structs, and that the same of them are
// required.
func TestSchemasFit(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string
			}
			Required []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schemaFile, &doc); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]any{"end": End{}, "unfinished": UnfinishedFlow{}, "binned": measure.Binned{},
		"bin": measure.Bin{}, "attempt": Attempt{}, "send": SendLate{}, "hosts": HostsLate{}, "agents": Agents{},
		"replay": Replay{}, "carrier": Carrier{}, "series": measure.Series{}, "distribution": measure.Distribution{},
		"histogram": measure.Histogram{}, "flows": measure.FlowTable{}, "pfc": PFCFrame{},
		"coordinate": measure.Coordinate{}, "recorded": recordMeasure{}, "record": runRecord{}, "execution": Execution{},
		"worker": Worker{}, "failed": FailedRun{}, "wait": IdlePeriod{}, "event": TimedNotice{}, "machine": Machine{},
		"aligned": Aligned{},
		"claim":   claim.Claim{}, "program": Program{}, "origin.json": originFile{}, "parameter": experiment.Parameter{}} {
		t.Run(name, func(t *testing.T) {
			have, ok := doc.Defs[name]
			if !ok {
				t.Fatal("there is no schema of it")
			}
			var fields, required []string
			for i := range reflect.TypeOf(of).NumField() {
				f := reflect.TypeOf(of).Field(i)
				field, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
				if !f.IsExported() {
					continue
				}
				switch {
				case name == "record": // written key by key
					field = strings.ToLower(f.Name)
				case field == "":
					field = f.Name
				}
				fields = append(fields, field)
				if !tagged || !strings.HasPrefix(options, "omit") {
					required = append(required, field)
				}
			}
			var properties []string
			for p := range have.Properties {
				properties = append(properties, p)
			}
			for _, list := range [][]string{fields, required, properties, have.Required} {
				slices.Sort(list)
			}
			if !slices.Equal(fields, properties) {
				t.Errorf("the file has %v, the schema %v", fields, properties)
			}
			if !slices.Equal(required, have.Required) {
				t.Errorf("the file always has %v, the schema requires %v", required, have.Required)
			}
		})
	}
	for _, why := range []outcome.EndReason{outcome.AllDone, outcome.TimeUp, outcome.NoProgress, outcome.Deadlock,
		outcome.Starved,
		outcome.Interrupted, outcome.Violated} {
		if !slices.Contains(doc.Defs["end"].Properties["reason"].Enum, string(why)) {
			t.Errorf("a run cannot end by %q", why)
		}
	}
}

// TestColumnsShown checks that docs/data.md describes each column as the files have it.
func TestColumnsShown(t *testing.T) {
	const page = "../../docs/data.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]Column{"first": firstColumns(), "trace": traceColumns()}
	for _, s := range Sheets() {
		all[s.Name] = s.ownColumns
	}
	block := regexp.MustCompile(`(?s)<!-- columns: ([a-z]+) -->\n.*?<!-- end -->`)
	got := block.ReplaceAllStringFunc(string(data), func(text string) string {
		name := block.FindStringSubmatch(text)[1]
		columns, ok := all[name]
		if !ok {
			t.Errorf("there is no table %q, or it is here twice", name)
		}
		delete(all, name)
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- columns: %s -->\n\n| column | type | may be undefined | what it is |\n"+
			"|---|---|---|---|\n", name)
		for i := range columns {
			c := &columns[i]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.columnType(), map[bool]string{true: "yes"}[c.Optional], c.Doc)
		}
		return b.String() + "\n<!-- end -->"
	})
	for name := range all {
		t.Errorf("the page lacks the table %s", name)
	}
	testkit.GoldenFile(t, page, got)
}
