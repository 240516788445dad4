package cli

import (
	"io"
	"sync"
	"testing"

	"weir/study/experiment"
	"weir/study/measure"
)

// entry is an experiment of the catalogue. full loads it when a test first needs it, once per test binary, and keeps
// facts instead of the spec: all specs together take 1.5 GB.
type entry struct {
	name string
	list experiment.LibraryEntry // as lists have it
	full func() (*facts, error)
}

// facts are the properties of a full experiment that tests need.
type facts struct {
	parameters []experiment.Parameter
	paper      string // its name in docs/sources.md
	values     []experiment.PaperValue
	points     [][]measure.Coordinate
}

// offline is the program that loads the catalogue's experiments.
var offline = sync.OnceValue(func() *app {
	return &app{registry: Registry(), stdout: io.Discard, stderr: io.Discard}
})

// catalogue returns all experiments of the library.
var catalogue = sync.OnceValue(func() (all []entry) {
	for _, x := range offline().registry.Experiments() {
		all = append(all, entry{x.Name, x, sync.OnceValues(func() (*facts, error) {
			s, err := loadUntried(x.Name, experiment.Options{})
			if err != nil {
				return nil, err
			}
			return &facts{s.Parameters(), s.Paper().Name, s.PaperValues(), coordinates(s)}, nil
		})})
	}
	return all
})

// coordinates returns the values of the sweep of each point.
func coordinates(s *experiment.Spec) (all [][]measure.Coordinate) {
	for _, p := range s.Points() {
		all = append(all, p.Coordinates())
	}
	return all
}

// loadUntried loads an experiment of the library without building its runs.
func loadUntried(name string, o experiment.Options) (*experiment.Spec, error) {
	r := offline().registry
	src, err := r.OpenExperiment(name)
	if err != nil {
		return nil, err
	}
	return experiment.Load(r, src, o, untried{})
}

// mustLoad calls loadUntried for an experiment that must be valid.
func mustLoad(t *testing.T, name string, o experiment.Options) *experiment.Spec {
	t.Helper()
	s, err := loadUntried(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustFull returns the facts of an experiment, which must be valid.
func (e entry) mustFull(t *testing.T) *facts {
	t.Helper()
	f, err := e.full()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// eachExperiment runs a subtest for every experiment of the catalogue, several at a time.
func eachExperiment(t *testing.T, check func(t *testing.T, e entry)) {
	t.Helper()
	for _, e := range catalogue() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			check(t, e)
		})
	}
}
