package experiment_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
)

// inFull lists the cases of testdata/bad with full errors in the archives, at most one of a kind.
var inFull = []string{
	"addresses-leaf", "addresses-word", "anchor", "arrivals-without-load", "cc-unknown", "claim-no-neighbour",
	"claim-number", "claim-syntax", "cm-without-unit", "event-both", "fat-tree-large", "incast-too-many",
	"link-rate-by-direction", "list", "load-too-many", "measure-options", "missing-parameter", "mtu-small",
	"no-program", "paper-value-source", "ratio-twice", "reaction-until", "sets-with-file", "sets-word",
	"stalls-long", "tos-first-larger", "without-claim", "without-no-match", "without-nothing",
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

// badInputs returns the archives of testdata/bad: each NAME.yaml is an experiment with a mistake, and NAME.txt has its
// errors.
func badInputs(t testing.TB) []*testkit.Archive { return testkit.ReadArchives(t, "testdata/bad") }

// checkBadInputs compares the errors of the cases of testdata/bad with the archives.
func checkBadInputs(t *testing.T, r *experiment.Registry) {
	var texts testkit.ErrorTexts
	cases := 0
	for _, a := range badInputs(t) {
		var files []string
		for _, f := range a.Select(".yaml") {
			name := strings.TrimSuffix(f.Name, ".yaml")
			files = append(files, f.Name, name+".txt")
			cases++
			t.Run(name, func(t *testing.T) {
				_, err := plan.Load(r, file(f.Name, string(f.Data)), experiment.Options{})
				e, ok := err.(document.InputErrors)
				if !ok || len(e) == 0 {
					t.Fatalf("no input error but %v", err)
				}
				for _, x := range e {
					if x.Line < 1 || x.Column < 1 || x.File == "" {
						t.Errorf("no place: %+v", x)
					}
				}
				a.Golden(t, name+".txt", texts.FormatError(t, "", err.Error()+"\n", slices.Contains(inFull, name)))
			})
		}
		for _, f := range a.Files {
			if !slices.Contains(files, f.Name) {
				t.Errorf("%s.txtar: %s belongs to no case", a.Name, f.Name)
			}
		}
	}
	if n := texts.CountMarked(); n != len(inFull) || cases < 100 {
		t.Errorf("%d errors of %d cases have their full text in the archives, want %d", n, cases, len(inFull))
	}
}

// TestBadInput checks that every experiment in testdata/bad is refused, with the errors that follow it. Other names of
// schemes and keys do not change them.
func TestBadInput(t *testing.T) {
	checkBadInputs(t, room())
	if !testkit.IsUpdating() {
		checkBadInputs(t, withDummies(t))
	}
}
