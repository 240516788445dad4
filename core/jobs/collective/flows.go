package collective

import (
	"fmt"
	"slices"

	"weir/core/unit"
)

// AllReduceFlows is the all-reduce in which each transfer is a flow of the run (Transfers).
const AllReduceFlows = "all_reduce_flows"

// FlowAlgorithms are the algorithms of AllReduceFlows; the first is the default.
var FlowAlgorithms = []string{Ring, Tree}

// Transfers are the transfers of one all-reduce by formula, as there may be millions (job.Flows).
type Transfers struct {
	algorithm string
	hosts     int
	size      unit.Bytes
}

// NewTransfers returns the transfers after which n hosts, each with size bytes, all have the sum. The transfers are
// only the traffic: reducing takes no time.
//
// Ring (Patarasu and Yuan, 2009, §4): each host sends a share of size/n to the next one in 2(n−1) steps; the first n−1
// reduce-scatter, the others all-gather. In step s host i sends share i−s mod n, which it received in the previous
// step. Shares differ by at most a byte.
//
// Tree: a binary tree, in which hosts 2i+1 and 2i+2 send to host i. All bytes go up to host 0, from each host once it
// has those from both its children, and then down again.
//
// The error is a *configError.
func NewTransfers(algorithm string, n int, size unit.Bytes) (Transfers, error) {
	t := Transfers{algorithm, n, size}
	switch {
	case n < 2:
		return t, &configError{"hosts", "two hosts or more", fmt.Sprintf("a collective of %d hosts", n)}
	case !slices.Contains(FlowAlgorithms, algorithm):
		return t, fmt.Errorf("%s has no algorithm %q", AllReduceFlows, algorithm)
	case algorithm == Ring && size < unit.Bytes(n):
		return t, &configError{"size", unit.Bytes(n).String() + " or more",
			fmt.Sprintf("a ring of %d hosts cannot share %v", n, size)}
	case size < 1:
		return t, &configError{"size", "1 B or more", fmt.Sprintf("a tree cannot share %v", size)}
	}
	return t, nil
}

// Count returns the number of transfers.
func (t Transfers) Count() int {
	if t.algorithm == Tree {
		return 2 * (t.hosts - 1)
	}
	return 2 * t.hosts * (t.hosts - 1)
}

// Transfer returns the source, the destination and the size of transfer k.
func (t Transfers) Transfer(k int) (src, dst int, size unit.Bytes) {
	n := t.hosts
	switch {
	case t.algorithm == Ring:
		src, size = k%n, t.size/unit.Bytes(n)
		if share := modulo(src-k/n, n); unit.Bytes(share) < t.size%unit.Bytes(n) {
			size++
		}
		return src, (src + 1) % n, size
	case k < n-1: // up, the last host first
		return n - 1 - k, (n - 2 - k) / 2, t.size
	}
	dst = k - (n - 2)
	return (dst - 1) / 2, dst, t.size
}

// After returns the transfers that must arrive before transfer k begins. Their numbers are below k.
func (t Transfers) After(k int) []int {
	n := t.hosts
	switch {
	case t.algorithm == Ring && k < n:
		return nil
	case t.algorithm == Ring:
		return []int{(k/n-1)*n + (k+n-1)%n}
	case k < n-1:
		return t.fromChildren(n - 1 - k)
	}
	if parent := (k - (n - 1)) / 2; parent > 0 {
		return []int{n - 2 + parent} // the parent's receive: step n−1 goes to host 1
	}
	return t.fromChildren(0)
}

// fromChildren returns the transfers from a host's children in the tree: host i sends up in step n−1−i.
func (t Transfers) fromChildren(host int) (after []int) {
	for child := 2*host + 1; child <= 2*host+2 && child < t.hosts; child++ {
		after = append(after, t.hosts-1-child)
	}
	return after
}
