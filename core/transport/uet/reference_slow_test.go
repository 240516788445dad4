//go:build slow

package uet_test

import "testing"

// All cases of the simulator's reference results: the last flow's end, the mean of five seeds, within 3 %; with a path
// a flow the simulator's within the range of 20 seeds, and the mean completion time within 10 %; trims and packets that
// are sent again within 15 % or 50.
func TestAllReferences(t *testing.T) {
	for i := range references {
		r := &references[i]
		t.Run(r.name, r.check)
	}
}
