package run

import (
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
)

const small, smallTraffic = plantest.Small, plantest.SmallTraffic

// room returns the registry of this package's tests.
func room() *experiment.Registry { return plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc") }

func file(name, text string) *experiment.Source { return plantest.NewSource(name, text) }
