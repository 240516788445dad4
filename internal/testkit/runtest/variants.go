package runtest

import (
	"testing"

	"weir/internal/document"
	"weir/study/experiment"
)

// ReadVariants reads the sweep and quick blocks of an experiment's file. It returns by key the names of the values that
// the sweep varies, and those that the quick variant has instead. It does not load the experiment, which takes much
// longer.
func ReadVariants(t testing.TB, r *experiment.Registry, name string) (sweep, quick map[string][]string) {
	t.Helper()
	src, err := r.OpenExperiment(name)
	if err != nil {
		t.Fatal(err)
	}
	c := document.NewReader(experiment.FileKind)
	root := document.Parse(c, src.File, src.Data)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	for _, k := range root.Keys {
		switch k.Name {
		case "sweep":
			sweep = namesByKey(k.Value)
		case "quick":
			quick = namesByKey(k.Value)
		}
	}
	return sweep, quick
}

// namesByKey returns the names of each key's values: a single value, the items of a list, or the keys of a map.
func namesByKey(block *document.Node) map[string][]string {
	all := map[string][]string{}
	for _, k := range block.Keys {
		var names []string
		switch k.Value.Kind {
		case document.Scalar:
			names = []string{k.Value.Text}
		case document.List:
			for _, item := range k.Value.Items {
				names = append(names, item.Text)
			}
		case document.Mapping:
			for _, x := range k.Value.Keys {
				names = append(names, x.Name)
			}
		}
		all[k.Name] = names
	}
	return all
}
