package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"weir/internal/command"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestDocsSchemaOfAll checks that the output of `weir schema` accepts every experiment in the tree.
func TestDocsSchemaOfAll(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"schema"}, &out, &errs, false); code != command.Done {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///weir.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:///weir.json")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, layer := range []string{"papers", "study"} { // other folders may have anything
		found, _ := filepath.Glob("../../../" + layer + "/*/experiments/[a-z]*.yaml")
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("experiments %v", files)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		x, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			err = schema.Validate(x)
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
