//go:build slow

package collective

import "testing"

func TestDoubleTreesAtTheirBounds(t *testing.T) {
	var members []int
	for n := 2; n <= 64; n++ {
		members = append(members, n)
	}
	checkTrees(t, members, []int{1}, []int{1, 2, 4, 8, 16, 32, 64, 128})
	checkTrees(t, []int{4, 16}, []int{2, 4}, []int{1, 2, 4, 8, 16, 32, 64, 256, 1024})
}
