package spec_test

import (
	"testing"

	"weir/internal/document"
	"weir/papers/p4abc"
	"weir/study/plan/plantest"
	"weir/study/spec"
)

const small, smallTraffic = plantest.Small, plantest.SmallTraffic

// room is the registry of this package's tests.
func room() *spec.Registry { return plantest.Registry(p4abc.Scheme(), "../../papers/p4abc") }

func file(name, text string) *spec.Source { return plantest.File(name, text) }

// load reads a spec that must be valid.
func load(t testing.TB, text string, o spec.Options) *spec.Spec {
	t.Helper()
	return plantest.Load(t, room(), text, o)
}

// wrong reads a spec that must not be valid.
func wrong(t testing.TB, text string, o spec.Options) document.InputErrors {
	t.Helper()
	return plantest.Wrong(t, room(), text, o)
}
