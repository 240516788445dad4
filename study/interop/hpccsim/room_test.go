package hpccsim

import (
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
)

// room is the registry of this package's tests.
func room() *experiment.Registry {
	return plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
}

func file(name, text string) *experiment.Source { return plantest.NewSource(name, text) }

// load reads a spec that must be valid.
func load(t testing.TB, text string, o experiment.Options) *experiment.Spec {
	t.Helper()
	return plantest.Load(t, room(), text, o)
}
