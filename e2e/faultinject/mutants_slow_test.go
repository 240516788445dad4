//go:build slow

package faultinject

import "testing"

// TestMutantsAtLength is TestReaders_SurviveDamagedInput with thousands of mutants, and with the pages of damaged
// results.
func TestMutantsAtLength(t *testing.T) {
	tryMutants(t, effort{mutants: 10_000, costly: 40, pages: true})
}
