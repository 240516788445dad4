package experiment

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
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

// index indexes a network; the points of a sweep often share one.
func (x *directory) index(n *topology.Network) *directory {
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

// maxMatches bounds the names that patterns are compared with at a point.
const maxMatches = 1 << 26

// matchNodes returns the nodes of one kind that a name or a pattern means. A name means its own node, also if it could
// be read as a pattern.
func (d *nodeNames) matchNodes(at document.Position, pattern string, switches bool, n *topology.Network) (found []int) {
	if i, ok := d.directory.index(n).nodes[pattern]; ok {
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
func (d *nodeNames) checkRange(at document.Position, pattern string, found []int, n *topology.Network) {
	names := make([]string, len(found))
	for i, node := range found {
		names[i] = n.Nodes[node].Name
	}
	measure.Whole(d.Reader, at, pattern, names)
}

// hostsBelow returns the hosts that match a pattern and have a link to a switch that matches another: leaf0/*.
func (d *nodeNames) hostsBelow(at document.Position, above, pattern string, n *topology.Network) (found []int) {
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
func (d *nodeNames) countComparisons(at document.Position, with int) bool {
	if d.matches += with; d.matches <= maxMatches {
		return true
	}
	d.Fail(at, fmt.Sprintf("patterns × nodes up to %d", maxMatches), "there are too many patterns for so large a network")
	return false
}

// readGroups reads the names that the file gives to hosts. A group may be of others that stand before it.
func (d *nodeNames) readGroups(root document.Map, p *Point) {
	d.groups = nil
	t := root.Get("groups")
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Position, "{storage: [h0, h1], training: \"h[2-15]\"}", "groups is %v", t.Kind)
		return
	}
	groups := map[string][]int{}
	for _, k := range t.Keys {
		if _, taken := d.directory.index(p.seen.Network).nodes[k.Name]; taken {
			d.Fail(k.Position, "another name", "a node is named %q", k.Name)
			continue
		}
		if !identifier(k.Name) || k.Name == ToRandom || k.Name == Permutation {
			d.Fail(k.Position, "a letter, then letters, digits and _", "%q is not a name", k.Name)
			continue
		}
		d.groups = groups // what stands before
		groups[k.Name] = d.listHosts(k.Value, p)
		p.seen.Groups = append(p.seen.Groups, measure.Group{Name: k.Name, Hosts: groups[k.Name]})
	}
	d.groups = groups
}

// readHosts reads a host, a list of hosts, or a pattern.
func (d *nodeNames) readHosts(x document.Map, key string, p *Point) []int {
	t := x.Get(key)
	if t == nil {
		x.Missing(key, "the traffic has no %q", key)
		return nil
	}
	return d.listHosts(t, p)
}

// listHosts returns the hosts that a name, a group, a pattern, or a list of them means, each once.
func (d *nodeNames) listHosts(t *document.Node, p *Point) []int {
	return d.listEachHost(t, p, func(*document.Node, string) {})
}

// listEachHost lists hosts as listHosts does. It calls again for each item that only has hosts of items before it.
func (d *nodeNames) listEachHost(t *document.Node, p *Point, again func(item *document.Node, name string)) []int {
	items := []*document.Node{t}
	if t.Kind == document.List {
		items = t.Items
	}
	n := p.seen.Network
	var out []int
	var known []string
	taken := map[int]bool{}
	for _, y := range items {
		before := d.Count()
		pattern := d.Text(y)
		found, grouped := d.groups[pattern]
		if !grouped {
			found = d.matchNodes(y.Position, pattern, false, n)
		}
		if d.Count() > before {
			continue
		}
		had := len(out)
		for _, i := range found {
			if !taken[i] {
				out = append(out, i)
			}
			taken[i] = true
		}
		if len(found) > 0 && len(out) == had {
			again(y, pattern)
		}
		if i, ok := d.directory.index(n).nodes[pattern]; ok && n.Nodes[i].Switch {
			d.Fail(y.Position, document.Near(pattern, d.directory.hosts), "%q is a switch; flows go from host to host", pattern)
		} else if len(found) == 0 && !grouped { // what is wrong with a group is said where it is given
			if known == nil { // once, because a list may have thousands of unknown hosts
				known = slices.Concat(slices.Sorted(maps.Keys(d.groups)), d.directory.hosts)
			}
			d.Unknown(y.Position, "host", pattern, known)
		}
	}
	return out
}

// findLink finds the link between two nodes; −1 if there is none.
func (d *nodeNames) findLink(t *document.Node, p *Point) int {
	if t.Kind != document.List || len(t.Items) != 2 {
		d.Fail(t.Position, "[s1, s2]", "a link is named by its two ends")
		return -1
	}
	n := p.seen.Network
	known := d.directory.index(n)
	var ends [2]int
	nth := 0
	for i, x := range t.Items {
		name := d.Text(x)
		node, found := known.nodes[name]
		if before, number, has := strings.Cut(name, "~"); has && !found && nth == 0 { // as ports are named
			if k, err := strconv.Atoi(number); err == nil && k > 0 {
				nth = k
				node, found = known.nodes[before]
			}
		}
		if !found {
			d.Unknown(x.Position, "node", x.Text, known.all)
			return -1
		}
		ends[i] = node
	}
	first, ok := known.links[[2]int{min(ends[0], ends[1]), max(ends[0], ends[1])}]
	if ok && nth <= 1 {
		return first
	}
	if ok && !d.countComparisons(t.Position, len(n.Links)) {
		return -1
	}
	for i := first; ok && i < len(n.Links); i++ {
		l := &n.Links[i]
		if int(l.Nth)+1 == nth && (l.Ends == ends || l.Ends == [2]int{ends[1], ends[0]}) {
			return i
		}
	}
	var neighbours []string
	for _, l := range n.Links {
		for e := range 2 {
			if l.Ends[e] == ends[0] && len(neighbours) < 20 {
				name := n.Nodes[l.Ends[1-e]].Name
				if l.Nth > 0 { // as its port is named
					name += "~" + strconv.Itoa(int(l.Nth)+1)
				}
				neighbours = append(neighbours, name)
			}
		}
	}
	d.Fail(t.Position, t.Items[0].Text+" has links to "+document.Choices(neighbours), "there is no link between %s and %s",
		t.Items[0].Text, t.Items[1].Text)
	return -1
}

// A sender needs a path to each of its receivers, and to no other host. As hosts do not forward, a path from a to b and
// one from b to c do not make a path from a to c.

// checkPath checks that there is a path from one host to another, and reports an error at a place if not.
func (d *nodeNames) checkPath(at document.Position, p *Point, from, to int) bool {
	if p.seen.Routes.Joined(from, to) {
		return true
	}
	n := p.seen.Network
	d.Fail(at, "hosts that links and switches join", "there is no path from %s to %s", n.Nodes[from].Name,
		n.Nodes[to].Name)
	return false
}

// checkPaths checks that there is a path between each of the pairs, and reports the first pair without one.
func (d *nodeNames) checkPaths(at document.Position, p *Point, pairs iter.Seq2[int, int]) bool {
	for from, to := range pairs {
		if !d.checkPath(at, p, from, to) {
			return false
		}
	}
	return true
}
