//go:build slow

package cli

import (
	"testing"

	"weir/study/spec"
)

// The same for every experiment in full.
func TestResolvedInFull(t *testing.T) {
	eachExperiment(t, func(t *testing.T, a *app, load func(spec.Options) *spec.Spec) {
		sameResolved(t, a, "in full", load(spec.Options{}))
	})
}
