package experiment

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/topology"
	"weir/internal/document"
	"weir/study/measure"
)

// directory has a network's nodes and links by their names, so that a file that names many of a large network is
// read in proportion to its length.
type directory struct {
	network *topology.Network
	nodes   map[string]int
	links   map[[2]int]int // the first between two nodes, the lower one first

	hosts, switches, all []string // the first of them, for messages
}

// of indexes a network; the points of a sweep often share one.
func (x *directory) of(n *topology.Network) *directory {
	if x.network == n {
		return x
	}
	*x = directory{network: n, nodes: make(map[string]int, len(n.Nodes)), links: make(map[[2]int]int, len(n.Links))}
	for i, node := range n.Nodes {
		x.nodes[node.Name] = i
		if node.Switch && len(x.switches) <= document.MostNear {
			x.switches = append(x.switches, node.Name)
		} else if !node.Switch && len(x.hosts) <= document.MostNear {
			x.hosts = append(x.hosts, node.Name)
		}
	}
	for i, l := range n.Links {
		pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
		if _, twice := x.links[pair]; !twice {
			x.links[pair] = i
		}
	}
	x.all = slices.Concat(x.hosts, x.switches)
	return x
}

// nodeNames finds hosts, switches and links by the names, groups and patterns of a file.
type nodeNames struct {
	*reader
	directory directory        // of the network of the point in hand
	groups    map[string][]int // hosts by the name that the file gives them, of the point in hand
	matches   int              // names that the point's patterns were compared with
}

// mostMatches bounds the names that patterns are compared with at a point.
const mostMatches = 1 << 26

// matchNodes are the nodes of one kind that a name or a pattern means. A name means its own node, also if it could
// be read as a pattern.
func (d *nodeNames) matchNodes(at document.Place, pattern string, switches bool, n *topology.Network) (found []int) {
	if i, ok := d.directory.of(n).nodes[pattern]; ok {
		if n.Nodes[i].Switch == switches {
			return []int{i}
		}
		return nil
	}
	above, of, below := strings.Cut(pattern, "/")
	if !topology.IsPattern(pattern) && (!below || switches) {
		return nil
	}
	if !d.countComparisons(at, len(n.Nodes)) {
		return nil
	}
	if below && !switches {
		return d.hostsBelow(at, above, of, n)
	}
	p := topology.NewPattern(pattern)
	for i := range n.Nodes {
		if node := &n.Nodes[i]; node.Switch == switches && p.Match(node.Name) {
			found = append(found, i)
		}
	}
	d.checkRange(at, pattern, found, n)
	return found
}

// checkRange reports an error if a range of a pattern is backwards, or has numbers that none of the nodes has which
// match: the experiment would be smaller than its file says. Of nothing that matches the caller tells.
func (d *nodeNames) checkRange(at document.Place, pattern string, found []int, n *topology.Network) {
	names := make([]string, len(found))
	for i, node := range found {
		names[i] = n.Nodes[node].Name
	}
	measure.Whole(d.Reader, at, pattern, names)
}

// hostsBelow are the hosts that match a pattern and have a link to a switch that matches another: leaf0/*.
func (d *nodeNames) hostsBelow(at document.Place, above, pattern string, n *topology.Network) (found []int) {
	under := make(map[int]bool)
	for _, sw := range d.matchNodes(at, above, true, n) {
		under[sw] = true
	}
	p := topology.NewPattern(pattern)
	is := make(map[int]bool)
	for _, l := range n.Links {
		for e, node := range l.Ends {
			if under[l.Ends[1-e]] && !n.Nodes[node].Switch && !is[node] && p.Match(n.Nodes[node].Name) {
				is[node] = true
				found = append(found, node)
			}
		}
	}
	slices.Sort(found)
	var all []int // of a range there are hosts; which of them are below is a matter of the network
	for i, node := range n.Nodes {
		if !node.Switch && p.Match(node.Name) {
			all = append(all, i)
		}
	}
	d.checkRange(at, pattern, all, n)
	return found
}

// countComparisons counts the names, or links, that one pattern is compared with, and reports whether that may be.
func (d *nodeNames) countComparisons(at document.Place, with int) bool {
	if d.matches += with; d.matches <= mostMatches {
		return true
	}
	d.Fail(at, fmt.Sprintf("patterns × nodes up to %d", mostMatches), "there are too many patterns for so large a network")
	return false
}
