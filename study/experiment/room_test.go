package experiment_test

import (
	"testing"

	"weir/core/dataplane/balance/spray"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
)

const small, smallTraffic = plantest.Small, plantest.SmallTraffic

// room is the registry of this package's tests.
func room() *experiment.Registry {
	r := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	r.Programs = append(r.Programs, spray.Scheme())
	return r
}

func file(name, text string) *experiment.Source { return plantest.NewSource(name, text) }

// wrong reads a spec that must not be valid.
func wrong(t testing.TB, text string, o experiment.Options) document.InputErrors {
	t.Helper()
	return plantest.LoadInvalid(t, room(), text, o)
}
