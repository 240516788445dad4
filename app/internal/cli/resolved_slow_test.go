//go:build slow

package cli

import (
	"testing"

	"weir/study/experiment"
)

// TestResolvedInFull: the resolved text of every experiment in full is the same experiment.
func TestResolvedInFull(t *testing.T) {
	eachExperiment(t, func(t *testing.T, e entry) {
		sameResolved(t, "in full", mustLoad(t, e.name, experiment.Options{}))
	})
}
