//go:build slow

package ncf

import "testing"

// TestErrorBoundSeeds checks that the bound holds for each of eight draws of the hashes.
func TestErrorBoundSeeds(t *testing.T) { errorBound(t, 8) }
