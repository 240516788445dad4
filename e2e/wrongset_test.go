package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestWrongSet checks that a wrong --set is the only error in each experiment of the library, for any measures that
// its claims and plots name. It sets a value that the sweep does not have, in full or as quick narrows it, a key
// that does not exist, and a duration without a unit.
func TestWrongSet(t *testing.T) {
	r, outside := app.Registry(), 0
	for _, x := range r.Experiments() {
		src, err := r.OpenExperiment(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		root := document.Parse(document.NewReader(experiment.FileKind), src.File, src.Data)
		one := func(set string, quick bool) {
			_, err := plan.Load(r, src, experiment.Options{Quick: quick, Set: []string{set}})
			var all document.InputErrors
			if !errors.As(err, &all) || len(all) != 1 || all[0].File != "--set "+set {
				t.Errorf("%s, quick %v, --set %s: %v", x.Name, quick, set, err)
			}
		}
		one("duration=3", true)
		one("no_such_key=1", false)
		if sweep := root.Find("sweep"); sweep != nil {
			for _, k := range sweep.Keys {
				if k.Value.Kind != document.Mapping {
					continue
				}
				one(k.Name+"=no_such_value", false)
				if left := removed(k.Value, root.Find("quick").Find(k.Name)); left != "" {
					one(k.Name+"="+left, true)
					outside++
				}
			}
		}
	}
	if outside < 5 {
		t.Errorf("%d values are outside of quick", outside)
	}
}

// removed returns the first value of a sweep that quick does not have; "": it has all.
func removed(sweep, quick *document.Node) string {
	if quick == nil {
		return ""
	}
	for _, k := range sweep.Keys {
		if quick.Text != k.Name && !slices.ContainsFunc(quick.Items, func(x *document.Node) bool {
			return strings.TrimSpace(x.Text) == k.Name
		}) {
			return k.Name
		}
	}
	return ""
}
