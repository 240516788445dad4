//go:build slow

package live

import "testing"

// TestContractSeeds runs the contract with eight random schedules of the thread.
func TestContractSeeds(t *testing.T) { contract(t, 8) }
