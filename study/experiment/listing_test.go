package experiment_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"weir/study/experiment"
)

// TestExperimentsOrder checks that benchmarks are last, and that entries have their time and whether they need the lab.
func TestExperimentsOrder(t *testing.T) {
	files := func(names ...string) fstest.MapFS {
		fs := fstest.MapFS{}
		for _, n := range names {
			fs["experiments/"+n+".yaml"] = &fstest.MapFile{Data: []byte("title: " + n + "\n")}
		}
		return fs
	}
	r := &experiment.Registry{Library: []experiment.Library{
		{Name: "bench", Files: files("fast", "lab"), Benchmark: true},
		{Name: "z", Files: files("one", "lab"), Lab: []string{"lab"}},
		{Name: "a", Files: files("two")},
	}, Times: map[string]float64{"z/one": 12}}
	want := []experiment.LibraryEntry{{Name: "a/two", Title: "two"}, {Name: "z/lab", Title: "lab", Lab: true},
		{Name: "z/one", Title: "one", Time: 12}, {Name: "bench/fast", Title: "fast"}, {Name: "bench/lab", Title: "lab"}}
	if got := r.Experiments(); !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
}
