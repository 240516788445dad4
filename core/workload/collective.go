package workload

import (
	"fmt"

	"weir/core/unit"
)

// Algorithms of collective operations.
const (
	Ring = "ring"
	Tree = "tree"
)

// Collectives are those that AllReduce knows.
var Collectives = []string{Ring, Tree}

// Step is one transfer of a collective operation, between two of its hosts. It begins
// when the transfers of After, which all go to Src, have arrived there; indices are into
// the list of steps, and below its own.
type Step struct {
	Src, Dst int
	Size     unit.Bytes
	After    []int
}

// AllReduce returns the transfers after which n hosts, each with so many bytes, all have the sum:
// the traffic only, reducing takes no time.
//
// Ring (Patarasu and Yuan, 2009, §4): each host sends to the next one in 2(n−1) steps a
// share of size/n; the first n−1 reduce-scatter, the others all-gather. In step s host i
// sends share i−s mod n, which it has got in the step before. Shares differ by a byte at
// most. Tree: a binary tree, in which host i hears from 2i+1 and 2i+2; all bytes go up to
// host 0, from each host when those of both its children are there, and then down again.
func AllReduce(algorithm string, n int, size unit.Bytes) ([]Step, error) {
	if n < 2 {
		return nil, fmt.Errorf("a collective of %d hosts; two or more are possible", n)
	}
	switch algorithm {
	case Ring:
		if size < unit.Bytes(n) {
			return nil, fmt.Errorf("a ring of %d hosts cannot share %v", n, size)
		}
		steps := make([]Step, 0, 2*n*(n-1))
		for s := range 2 * (n - 1) {
			for i := range n {
				share := ((i-s)%n + n) % n
				step := Step{Src: i, Dst: (i + 1) % n, Size: size / unit.Bytes(n)}
				if unit.Bytes(share) < size%unit.Bytes(n) {
					step.Size++
				}
				if s > 0 {
					step.After = []int{(s-1)*n + (i+n-1)%n}
				}
				steps = append(steps, step)
			}
		}
		return steps, nil
	case Tree:
		if size < 1 {
			return nil, fmt.Errorf("a tree cannot share %v", size)
		}
		up := func(i int) int { return n - 1 - i } // the step by which host i sends up: the last host's is first
		steps := make([]Step, 0, 2*(n-1))
		heard := func(i int) (after []int) {
			for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
				after = append(after, up(c))
			}
			return after
		}
		for i := n - 1; i > 0; i-- {
			steps = append(steps, Step{Src: i, Dst: (i - 1) / 2, Size: size, After: heard(i)})
		}
		for i := 1; i < n; i++ {
			parent := (i - 1) / 2
			step := Step{Src: parent, Dst: i, Size: size, After: heard(0)}
			if parent > 0 {
				step.After = []int{n - 2 + parent} // by which the parent heard: step n−1 goes to host 1
			}
			steps = append(steps, step)
		}
		return steps, nil
	}
	return nil, fmt.Errorf("%q is no collective; %s and %s are", algorithm, Ring, Tree)
}
