//go:build slow

package main

import "testing"

// All combinations.
func TestAllReactions(t *testing.T) {
	for _, r := range reactions() {
		t.Run(r.String(), r.check)
	}
}
