//go:build slow

package ndp

import "testing"

func TestRandomPathsSeeds(t *testing.T) { randomPaths(t, 1000) }

func TestNoTimeoutsWithoutLossSeeds(t *testing.T) { noTimeoutsWithoutLoss(t, 1000) }
