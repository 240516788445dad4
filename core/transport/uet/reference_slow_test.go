//go:build slow

package uet_test

import "testing"

// TestAllReferences compares all cases with the simulator's reference results. The last flow's end, as the mean of five
// seeds, is within 3 %; with a path per flow the simulator's is within the range of 20 seeds, and the mean completion
// time within 10 %. Trims and retransmissions are within 15 % or 50.
func TestAllReferences(t *testing.T) {
	for i := range references {
		r := &references[i]
		t.Run(r.name, r.check)
	}
}
