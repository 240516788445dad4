//go:build slow

package live

import "testing"

// TestContractSeeds: the contract with eight random schedules of the thread.
func TestContractSeeds(t *testing.T) { contract(t, 8) }
