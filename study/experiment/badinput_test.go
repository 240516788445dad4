package experiment_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/testutil"
	"weir/study/experiment"
	"weir/study/plan"
)

// inFull are the files of testdata/bad whose errors the golden file has in full, at most one of a kind.
var inFull = []string{
	"addresses-leaf", "anchor", "cc-unknown", "claim-syntax", "cm-without-unit", "event-both", "fat-tree-large",
	"incast-too-many", "link-rate-by-direction", "list", "load-too-many", "measure-options", "missing-parameter",
	"mtu-small", "no-program", "paper-value-source", "ratio-twice", "reaction-until", "sets-word", "stalls-long",
	"without-nothing",
}

// withDummies returns the registry of the tests with another program, transport, topology and measure, and adds a key
// to each table of keys until the test ends.
func withDummies(t *testing.T) *experiment.Registry {
	const name = "aaaaaaaa_dummy"
	for _, x := range experiment.Tables {
		if x.Name == "stalls" {
			continue // all its keys are required
		}
		old := x.Table.Keys
		x.Table.Keys = append([]document.Key{{Name: name, Doc: "a key", Form: document.Value("text")}}, old...)
		t.Cleanup(func() { x.Table.Keys = old })
	}
	r := room()
	program, carrier, family, kind := r.Programs[0], r.Transports[0], r.Topologies[0], r.Measures[0]
	program.Name, carrier.Name, family.Name, kind.Name = name, name, name, name
	r.Programs = slices.Insert(r.Programs, 0, program)
	r.Transports = slices.Insert(r.Transports, 0, carrier)
	r.Topologies = slices.Insert(r.Topologies, 0, family)
	r.Measures = slices.Insert(r.Measures, 0, kind)
	return r
}

// badInputTexts returns the errors of the files of testdata/bad with a registry.
func badInputTexts(t *testing.T, r *experiment.Registry) string {
	files, _ := filepath.Glob("testdata/bad/[^._]*.yaml")
	if len(files) < 30 {
		t.Fatalf("%d files", len(files))
	}
	var texts testutil.ErrorTexts
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan.Load(r, file(name+".yaml", string(data)), experiment.Options{})
			e, ok := err.(document.InputErrors)
			if !ok || len(e) == 0 {
				t.Fatalf("no input error but %v", err)
			}
			for _, x := range e {
				if x.Line < 1 || x.Column < 1 || x.File == "" {
					t.Errorf("no place: %+v", x)
				}
			}
			texts.Add(t, "", err.Error()+"\n", slices.Contains(inFull, name))
		})
	}
	if n := texts.FullTexts(); n != len(inFull) {
		t.Errorf("%d errors have their full text in the golden file, want %d", n, len(inFull))
	}
	return texts.String()
}

// TestBadInput: every file of testdata/bad is refused, with the errors in testdata/bad.txt. Other names of schemes and
// keys do not change them.
func TestBadInput(t *testing.T) {
	testutil.Golden(t, "bad.txt", badInputTexts(t, room()))
	if !testutil.Updating() {
		testutil.Golden(t, "bad.txt", badInputTexts(t, withDummies(t)))
	}
}
