package topology

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weir/core/packet"
)

// Tree is a network seen as a fat tree (Al-Fares, Loukissas, Vahdat 2008) of two or three tiers: leaves, which have
// the hosts, spines and, with three tiers, super spines. There is one path down to a host, and several up.
type Tree struct {
	Tiers  int
	Tier   []uint8           // by node: 0 for hosts, 1 for leaves, 2 for spines, 3 for super spines
	Pod    []int             // by node: of hosts, leaves and, with three tiers, spines; else 0
	Leaf   []int             // by node: number of the leaf in its pod, for hosts and leaves; else 0
	Index  []int             // by host: its number at its leaf, from 0
	Up     [][]packet.PortID // by node: ports to the tier above, ascending
	Down   [][]packet.PortID // by switch: ports to the tier below, ascending
	leaves []int             // nodes, by pod and number
	n      *Network
	ports  [][]PortRef
}

// FindTree returns the fat tree of a network. Leaves are the switches that have hosts. The error is the reason why the
// network is not one: a leaf is linked to a leaf, there are two ways down to a host, or a spine lacks a link to a leaf
// of its pod. With an error the tree must not be used.
func (n *Network) FindTree() (*Tree, error) {
	t := &Tree{Tiers: 2, Tier: make([]uint8, len(n.Nodes)), Pod: make([]int, len(n.Nodes)),
		Leaf: make([]int, len(n.Nodes)), Index: make([]int, len(n.Nodes)),
		Up: make([][]packet.PortID, len(n.Nodes)), Down: make([][]packet.PortID, len(n.Nodes)), n: n, ports: n.Ports()}
	name := func(node int) string { return n.Nodes[node].Name }
	for node := range n.Nodes {
		if n.Nodes[node].Switch {
			for _, p := range t.ports[node] {
				if !n.Nodes[n.otherNode(p)].Switch {
					t.Tier[node] = 1
				}
			}
		} else if len(t.ports[node]) != 1 || !n.Nodes[n.otherNode(t.ports[node][0])].Switch {
			return nil, fmt.Errorf("host %s is not linked to one switch", name(node))
		}
	}
	for tier := uint8(1); tier <= 2; tier++ { // the switches above a tier are the next one
		for node := range n.Nodes {
			if !n.Nodes[node].Switch || t.Tier[node] != 0 {
				continue
			}
			for _, p := range t.ports[node] {
				if t.Tier[n.otherNode(p)] == tier {
					t.Tier[node] = tier + 1
				}
			}
		}
	}
	for node := range n.Nodes {
		if n.Nodes[node].Switch && t.Tier[node] == 0 {
			return nil, fmt.Errorf("switch %s is in no tier: it is neither a leaf, which has hosts, nor up to two "+
				"links above one", name(node))
		}
		t.Tiers = max(t.Tiers, int(t.Tier[node]))
	}
	for node := range n.Nodes {
		for k, p := range t.ports[node] {
			other := n.otherNode(p)
			switch int(t.Tier[other]) - int(t.Tier[node]) {
			case 1:
				t.Up[node] = append(t.Up[node], packet.PortID(k))
			case -1:
				t.Down[node] = append(t.Down[node], packet.PortID(k))
			default:
				return nil, fmt.Errorf("%s of tier %d is linked to %s of tier %d; a fat tree has links between "+
					"neighbouring tiers only", name(node), t.Tier[node], name(other), t.Tier[other])
			}
		}
	}
	return t, t.numberPods()
}

// otherNode returns the node at the far end of a port's link.
func (n *Network) otherNode(p PortRef) int { return n.Links[p.Link].Ends[1-p.End] }

// nodesBelow returns the nodes that a switch's ports lead down to.
func (t *Tree) nodesBelow(node int) (nodes []int) {
	for _, k := range t.Down[node] {
		nodes = append(nodes, t.n.otherNode(t.ports[node][k]))
	}
	return nodes
}

// noPod marks a node outside of pods.
const noPod = -1

// numberPods numbers pods, leaves and hosts. It returns an error unless there is one way down from each switch to each
// host below it. It sets Pod, Leaf, Index and leaves.
func (t *Tree) numberPods() error {
	pod, pods := t.findPods()
	if t.Tiers == 2 && pods > 1 {
		return fmt.Errorf("the leaves %s and %s are not linked by spines", t.nodeName(t.firstOf(pod, 0)),
			t.nodeName(t.firstOf(pod, 1)))
	}
	leaves := t.numberLeaves(pod, pods)
	for node := range t.n.Nodes {
		var err error
		switch t.Tier[node] {
		case 2:
			t.Pod[node] = pod[node]
			err = t.checkSpine(node, leaves[pod[node]])
		case 3:
			err = t.checkCore(node, pod, pods)
		}
		if err != nil {
			return err
		}
	}
	if t.Tiers == 3 {
		for node := range t.n.Nodes {
			if t.Tier[node] == 2 && len(t.Up[node]) == 0 {
				return fmt.Errorf("%s has no link to a switch of tier 3", t.nodeName(node))
			}
		}
	}
	return nil
}

func (t *Tree) nodeName(node int) string { return t.n.Nodes[node].Name }

// findPods returns the pod of each leaf and spine: a pod is a connected component of leaves and spines. Other nodes
// have noPod. pods is their number.
func (t *Tree) findPods() (pod []int, pods int) {
	pod = make([]int, len(t.n.Nodes))
	for i := range pod {
		pod[i] = noPod
	}
	for leaf := range t.n.Nodes {
		if t.Tier[leaf] != 1 || pod[leaf] != noPod {
			continue
		}
		reached := []int{leaf}
		pod[leaf] = pods
		for k := 0; k < len(reached); k++ {
			at := reached[k]
			next := t.nodesBelow(at)
			if t.Tier[at] == 1 {
				next = t.NodesAbove(at)
			}
			for _, other := range next {
				if pod[other] == noPod {
					pod[other] = pods
					reached = append(reached, other)
				}
			}
		}
		pods++
	}
	return pod, pods
}

// numberLeaves numbers the leaves of each pod and the hosts of each leaf. It returns the number of leaves of each pod.
// It sets Pod, Leaf, Index and leaves.
func (t *Tree) numberLeaves(pod []int, pods int) (leaves []int) {
	leaves = make([]int, pods)
	for node := range t.n.Nodes {
		if t.Tier[node] != 1 {
			continue
		}
		t.Pod[node], t.Leaf[node] = pod[node], leaves[pod[node]]
		leaves[pod[node]]++
		for i, host := range t.nodesBelow(node) {
			t.Pod[host], t.Leaf[host], t.Index[host] = t.Pod[node], t.Leaf[node], i
		}
	}
	for p := range pods {
		for node := range t.n.Nodes {
			if t.Tier[node] == 1 && pod[node] == p {
				t.leaves = append(t.leaves, node)
			}
		}
	}
	return leaves
}

// checkSpine verifies that a switch of tier 2 has one link to each of the leaves of its pod. leaves is the number of
// these.
func (t *Tree) checkSpine(node, leaves int) error {
	linked := make([]bool, leaves)
	for _, leaf := range t.nodesBelow(node) {
		if linked[t.Leaf[leaf]] {
			return fmt.Errorf("%s has two links to %s: two ways down", t.nodeName(node), t.nodeName(leaf))
		}
		linked[t.Leaf[leaf]] = true
	}
	for i, there := range linked {
		if !there {
			return fmt.Errorf("%s has no link to %s, a leaf of its pod", t.nodeName(node), t.nodeName(t.leafOf(t.Pod[node], i)))
		}
	}
	return nil
}

// checkCore verifies that a switch of tier 3 has one link into each pod. pod and pods are findPods' results.
func (t *Tree) checkCore(node int, pod []int, pods int) error {
	const none = -1
	linked := make([]int, pods) // the spine
	for i := range linked {
		linked[i] = none
	}
	for _, spine := range t.nodesBelow(node) {
		p := pod[spine]
		if linked[p] != none {
			return fmt.Errorf("%s has links to %s and %s of one pod: two ways down", t.nodeName(node), t.nodeName(linked[p]),
				t.nodeName(spine))
		}
		linked[p] = spine
	}
	for p, spine := range linked {
		if spine == none {
			return fmt.Errorf("%s has no link into the pod of %s", t.nodeName(node), t.nodeName(t.leafOf(p, 0)))
		}
	}
	return nil
}

// firstOf returns the first leaf of a pod, which must have one. pod is findPods' result.
func (t *Tree) firstOf(pod []int, p int) int {
	for node := range pod {
		if t.Tier[node] == 1 && pod[node] == p {
			return node
		}
	}
	return 0
}

// leafOf returns the leaf with a pod and a number, which must exist.
func (t *Tree) leafOf(pod, number int) int {
	for _, leaf := range t.leaves {
		if t.Pod[leaf] == pod && t.Leaf[leaf] == number {
			return leaf
		}
	}
	return 0
}

// NodesAbove returns the switches at a node's ports of Up, in their order.
func (t *Tree) NodesAbove(node int) (nodes []int) {
	for _, k := range t.Up[node] {
		nodes = append(nodes, t.n.otherNode(t.ports[node][k]))
	}
	return nodes
}

// Leaves returns the leaves by pod and number.
func (t *Tree) Leaves() []int { return t.leaves }

// LeafByAddress returns, by address (node + 1), the number of a host's leaf, or of the leaf itself, as an index into
// Leaves; −1 for other addresses.
func (t *Tree) LeafByAddress() []int32 {
	of := make([]int32, len(t.n.Nodes)+1)
	for i := range of {
		of[i] = -1
	}
	for i, leaf := range t.leaves {
		of[leaf+1] = int32(i)
		for _, host := range t.nodesBelow(leaf) {
			of[host+1] = int32(i)
		}
	}
	return of
}

// Prefixes is an address plan: for every leaf, in the order of Leaves, the prefix of its hosts' addresses; and the
// prefixes that the switches above match.
type Prefixes struct {
	Leaf []netip.Prefix
	Pod  []netip.Prefix // by pod, for trees of three tiers; nil: the leaves of a pod have no common prefix
	All  netip.Prefix   // common prefix of all; invalid: there is no such prefix
}

// NewPlan returns the hierarchical plan of P4TE's figure 1. A host is 2001:1:1:pod:0:0:leaf:host, so that leaves have
// /112, pods /96 and the network /48.
func (t *Tree) NewPlan() Prefixes {
	p := Prefixes{All: netip.PrefixFrom(planAddress(0, 0, 0), 48).Masked()}
	for _, leaf := range t.leaves {
		p.Leaf = append(p.Leaf, netip.PrefixFrom(planAddress(t.Pod[leaf], t.Leaf[leaf], 0), 112).Masked())
		if t.Tiers == 3 && t.Pod[leaf] == len(p.Pod) {
			p.Pod = append(p.Pod, netip.PrefixFrom(planAddress(t.Pod[leaf], 0, 0), 96).Masked())
		}
	}
	return p
}

// planAddress returns the address of a host in NewPlan.
func planAddress(pod, leaf, host int) netip.Addr {
	a := [16]byte{0x20, 0x01, 0, 1, 0, 1}
	binary.BigEndian.PutUint16(a[6:], uint16(pod))
	binary.BigEndian.PutUint16(a[12:], uint16(leaf))
	binary.BigEndian.PutUint16(a[14:], uint16(host))
	return netip.AddrFrom16(a)
}

// CheckPlan returns an error for a plan with a prefix that is not IPv6, is too small for its leaf's hosts, or overlaps
// another leaf's. It also returns one if the numbers of prefixes and leaves differ.
func (t *Tree) CheckPlan(p Prefixes) error {
	if len(p.Leaf) != len(t.leaves) {
		return fmt.Errorf("%d prefixes for %d leaves", len(p.Leaf), len(t.leaves))
	}
	for i := range p.Leaf {
		if err := t.CheckLeaf(p, i); err != nil {
			return err
		}
	}
	return nil
}

// CheckLeaf returns an error for the prefix of leaf i by the conditions of CheckPlan. It compares it with the valid
// prefixes of the other leaves.
func (t *Tree) CheckLeaf(p Prefixes, i int) error {
	x, name := p.Leaf[i], t.n.Nodes[t.leaves[i]].Name
	if !x.IsValid() || x.Addr().Is4() {
		return fmt.Errorf("%s: %v is not an IPv6 prefix", name, x)
	}
	if hosts := len(t.Down[t.leaves[i]]); x.Bits() > 112 && hosts > 1<<(128-x.Bits()) || hosts > 1<<16 {
		return fmt.Errorf("%s: %v is too small for %d hosts", name, x, hosts)
	}
	for k, y := range p.Leaf {
		if k != i && y.IsValid() && x.Overlaps(y) {
			return fmt.Errorf("%s: %v overlaps %v of %s", name, x, y, t.n.Nodes[t.leaves[k]].Name)
		}
	}
	return nil
}

// Addresses returns a book with the IPv6 addresses of a plan that CheckPlan accepts: its leaf's prefix with the host's
// number in the lower bits. All other addresses are as in Network.Addresses.
func (t *Tree) Addresses(p Prefixes) *packet.Book {
	number := make([]int, len(t.n.Nodes))
	for i, leaf := range t.leaves {
		number[leaf] = i
	}
	b := packet.NewBook()
	for node := range t.n.Nodes {
		v4, v6 := flatAddresses(node)
		if t.Tier[node] == 0 {
			leaf := t.n.otherNode(t.ports[node][0])
			a := p.Leaf[number[leaf]].Masked().Addr().As16()
			binary.BigEndian.PutUint16(a[14:], binary.BigEndian.Uint16(a[14:])|uint16(t.Index[node]))
			v6 = netip.AddrFrom16(a)
		}
		b.Add(v4, v6)
	}
	return b
}

// A DownRoute is an entry of a switch's downward table: a prefix and its port.
type DownRoute struct {
	Prefix netip.Prefix
	Port   packet.PortID
}

// DownRoutes returns the downward table of a switch (P4TE §6.2.1.1). A leaf's has hosts, a spine's leaves, and a super
// spine's pods or, if these have no common prefix, leaves.
func (t *Tree) DownRoutes(node int, p Prefixes, book *packet.Book) (routes []DownRoute) {
	for _, k := range t.Down[node] {
		below := t.n.otherNode(t.ports[node][k])
		switch t.Tier[node] {
		case 1:
			routes = append(routes, DownRoute{netip.PrefixFrom(book.V6(packet.Addr(below+1)), 128), k})
		case 2:
			routes = append(routes, DownRoute{p.Leaf[t.leafIndex(below)], k})
		case 3:
			if len(p.Pod) > 0 {
				routes = append(routes, DownRoute{p.Pod[t.Pod[below]], k})
				break
			}
			for i, leaf := range t.leaves {
				if t.Pod[leaf] == t.Pod[below] {
					routes = append(routes, DownRoute{p.Leaf[i], k})
				}
			}
		}
	}
	return routes
}

// leafIndex returns the index of a leaf in Leaves, which must have it.
func (t *Tree) leafIndex(leaf int) int {
	for i, x := range t.leaves {
		if x == leaf {
			return i
		}
	}
	return 0
}
