//go:build slow

package sim

import "testing"

// TestBalanceSeeds checks balancers with more seeds.
func TestBalanceSeeds(t *testing.T) { balance(t, 3, anyTree) }

// TestBalancersSameResultFull checks every balancer on both trees.
func TestBalancersSameResultFull(t *testing.T) { balancersSameResult(t, anyTree) }

// anyTree accepts every balancer on every tree.
func anyTree(*balancer, int) bool { return true }

// TestAsymmetryFull checks a slow link with more seeds and flows.
func TestAsymmetryFull(t *testing.T) { asymmetry(t, 3, 400) }

// TestBalancersLinkFailureFull checks the failure of a link at either end of the tree.
func TestBalancersLinkFailureFull(t *testing.T) {
	balancersLinkFailure(t, anyTree, "first leaf", "last leaf")
}
