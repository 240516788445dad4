//go:build slow

package e2e

import (
	"testing"

	"weir/app"
)

// TestPackParcel_KeepsRunIDs checks that a packed experiment of the catalogue unpacks to runs with the same ids.
func TestPackParcel_KeepsRunIDs(t *testing.T) {
	for _, e := range app.Registry().Experiments() {
		t.Run(e.Name, func(t *testing.T) { packs(t, e.Name) })
	}
}
