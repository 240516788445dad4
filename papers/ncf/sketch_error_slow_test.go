//go:build slow

package ncf

import "testing"

// Hashes drawn anew eight times.
func TestErrorBoundSeeds(t *testing.T) { errorBound(t, 8) }
