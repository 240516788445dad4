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
// when the transfers of After, which all go to Src, have arrived there: their numbers are
// below its own.
type Step struct {
	Src, Dst int
	Size     unit.Bytes
	After    []int
}

// Collective is a collective operation. It has its steps by formula: there may be millions.
type Collective struct {
	algorithm string
	hosts     int
	size      unit.Bytes
}

// AllReduce is the operation after which n hosts, each with so many bytes, all have the sum:
// the traffic only, reducing takes no time.
//
// Ring (Patarasu and Yuan, 2009, §4): each host sends to the next one in 2(n−1) steps a
// share of size/n; the first n−1 reduce-scatter, the others all-gather. In step s host i
// sends share i−s mod n, which it has got in the step before. Shares differ by a byte at
// most. Tree: a binary tree, in which host i hears from 2i+1 and 2i+2; all bytes go up to
// host 0, from each host when those of both its children are there, and then down again.
func AllReduce(algorithm string, n int, size unit.Bytes) (Collective, error) {
	c := Collective{algorithm, n, size}
	switch {
	case n < 2:
		return c, fmt.Errorf("a collective of %d hosts; two or more are possible", n)
	case algorithm != Ring && algorithm != Tree:
		return c, fmt.Errorf("%q is no collective; %s and %s are", algorithm, Ring, Tree)
	case algorithm == Ring && size < unit.Bytes(n):
		return c, fmt.Errorf("a ring of %d hosts cannot share %v", n, size)
	case algorithm == Tree && size < 1:
		return c, fmt.Errorf("a tree cannot share %v", size)
	}
	return c, nil
}

// Steps is how many transfers there are.
func (c Collective) Steps() int {
	if c.algorithm == Tree {
		return 2 * (c.hosts - 1)
	}
	return 2 * c.hosts * (c.hosts - 1)
}

// Step is transfer k.
func (c Collective) Step(k int) Step {
	s := Step{After: c.after(k)}
	s.Src, s.Dst, s.Size = c.Transfer(k)
	return s
}

// Transfer is what transfer k carries from where to where.
func (c Collective) Transfer(k int) (src, dst int, size unit.Bytes) {
	n := c.hosts
	switch {
	case c.algorithm == Ring:
		src, size = k%n, c.size/unit.Bytes(n)
		if share := ((src-k/n)%n + n) % n; unit.Bytes(share) < c.size%unit.Bytes(n) {
			size++
		}
		return src, (src + 1) % n, size
	case k < n-1: // up, the last host first
		return n - 1 - k, (n - 2 - k) / 2, c.size
	}
	dst = k - (n - 2)
	return (dst - 1) / 2, dst, c.size
}

// after are those that have to arrive before transfer k.
func (c Collective) after(k int) []int {
	n := c.hosts
	switch {
	case c.algorithm == Ring && k < n:
		return nil
	case c.algorithm == Ring:
		return []int{(k/n-1)*n + (k+n-1)%n}
	case k < n-1:
		return c.heard(n - 1 - k)
	}
	if parent := (k - (n - 1)) / 2; parent > 0 {
		return []int{n - 2 + parent} // by which the parent heard: step n−1 goes to host 1
	}
	return c.heard(0)
}

// heard are the transfers by which a host of the tree hears from its children: host i sends up in step n−1−i.
func (c Collective) heard(host int) (after []int) {
	for child := 2*host + 1; child <= 2*host+2 && child < c.hosts; child++ {
		after = append(after, c.hosts-1-child)
	}
	return after
}
