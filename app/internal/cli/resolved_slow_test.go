//go:build slow

package cli

import (
	"testing"

	"weir/study/experiment"
)

// TestResolvedInFull checks that the resolved text of every full experiment is the same experiment.
func TestResolvedInFull(t *testing.T) {
	eachExperiment(t, func(t *testing.T, e entry) {
		sameResolved(t, "in full", mustLoad(t, e.name, experiment.Options{}))
	})
}
