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

// directory has a network's nodes and links by their names, so that reading a file takes time in proportion to its
// length, even for a large network.
type directory struct {
	network *topology.Network
	nodes   map[string]int
	links   map[[2]int]int // the first link between two nodes, the lower node first

	hosts, switches, all []string // the first names, for error messages
}

// indexNetwork fills the directory for a network and returns it. It keeps its content if it has that network. For
// messages it keeps the first names of switches and hosts, at most MaxNear + 1 each.
func (x *directory) indexNetwork(n *topology.Network) *directory {
	if x.network == n {
		return x
	}
	*x = directory{network: n, nodes: make(map[string]int, len(n.Nodes)), links: make(map[[2]int]int, len(n.Links))}
	for i, node := range n.Nodes {
		x.nodes[node.Name] = i
		if node.Switch && len(x.switches) <= document.MaxNear {
			x.switches = append(x.switches, node.Name)
		} else if !node.Switch && len(x.hosts) <= document.MaxNear {
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
	directory directory        // of the current point's network
	groups    map[string][]int // hosts of the current point by the name of their group
	matches   int              // number of names that the point's patterns were compared with
}

// maxMatches limits the comparisons of names with patterns at a point.
const maxMatches = 1 << 26

// matchNodes returns the switches, or the hosts, that match a name or a pattern. If switches is true these are
// switches, otherwise hosts. A name that a node has matches only that node, even if it has the form of a pattern. It
// returns nil without an error if no node matches.
func (d *nodeNames) matchNodes(place document.Position, pattern string, switches bool,
	n *topology.Network) (found []int) {
	if i, ok := d.directory.indexNetwork(n).nodes[pattern]; ok {
		if n.Nodes[i].Switch == switches {
			return []int{i}
		}
		return nil
	}
	above, hostPattern, below := strings.Cut(pattern, "/")
	if !topology.IsPattern(pattern) && (!below || switches) {
		return nil
	}
	if !d.countComparisons(place, len(n.Nodes)) {
		return nil
	}
	if below && !switches {
		return d.hostsBelow(place, above, hostPattern, n)
	}
	p := topology.NewPattern(pattern)
	for i := range n.Nodes {
		if node := &n.Nodes[i]; node.Switch == switches && p.Match(node.Name) {
			found = append(found, i)
		}
	}
	d.checkRange(place, pattern, found, n)
	return found
}

// checkRange reports an error if a range of a pattern is backwards, or includes numbers that no found node has: the
// experiment would be smaller than its file defines. If no node is found the caller reports it.
func (d *nodeNames) checkRange(place document.Position, pattern string, found []int, n *topology.Network) {
	names := make([]string, len(found))
	for i, node := range found {
		names[i] = n.Nodes[node].Name
	}
	measure.CheckPattern(d.Reader, place, pattern, names)
}

// hostsBelow returns the hosts that match a pattern and have a link to a switch that matches above: leaf0/*. They are
// in the network's order.
func (d *nodeNames) hostsBelow(place document.Position, above, pattern string, n *topology.Network) (found []int) {
	under := make(map[int]bool)
	for _, sw := range d.matchNodes(place, above, true, n) {
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
	var all []int // a range must name existing hosts, but not all of them need to be below these switches
	for i, node := range n.Nodes {
		if !node.Switch && p.Match(node.Name) {
			all = append(all, i)
		}
	}
	d.checkRange(place, pattern, all, n)
	return found
}

// countComparisons counts comparisons of a pattern with count names. It reports an error, and returns false, if there
// are too many.
func (d *nodeNames) countComparisons(place document.Position, count int) bool {
	if d.matches += count; d.matches <= maxMatches {
		return true
	}
	d.Fail(place, fmt.Sprintf("patterns × nodes up to %d", maxMatches),
		"too many patterns are given for a network of this size")
	return false
}

// readGroups reads the names of groups of hosts. A group may include groups that precede it. It replaces the groups of
// the previous point, and adds them to the point's view of measures.
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
		if _, taken := d.directory.indexNetwork(p.measured.Network).nodes[k.Name]; taken {
			d.Fail(k.Position, "another name", "%q is already the name of a node", k.Name)
			continue
		}
		if !isIdentifier(k.Name) || k.Name == ToRandom || k.Name == Permutation {
			d.Fail(k.Position, "a letter, then letters, digits and _", "%q is not a valid name", k.Name)
			continue
		}
		d.groups = groups // groups that precede this one
		groups[k.Name] = d.listHosts(k.Value, p)
		p.measured.Groups = append(p.measured.Groups, measure.Group{Name: k.Name, Hosts: groups[k.Name]})
	}
	d.groups = groups
}

// readHosts reads the hosts of a traffic's key, which must exist: a host, a group, a pattern, or a list of them.
func (d *nodeNames) readHosts(x document.Map, key string, p *Point) []int {
	t := x.Get(key)
	if t == nil {
		x.FailMissing(key, "the traffic needs the key %q", key)
		return nil
	}
	return d.listHosts(t, p)
}

// listHosts returns the hosts that match a name, a group, a pattern, or a list of them, each once, in the order of the
// list. It reports an error for names that match no host.
func (d *nodeNames) listHosts(t *document.Node, p *Point) []int {
	return d.listEachHost(t, p, func(*document.Node, string) {})
}

// listEachHost lists hosts like listHosts. It calls onRepeat for each item that matches hosts but adds no host.
func (d *nodeNames) listEachHost(t *document.Node, p *Point, onRepeat func(item *document.Node, name string)) []int {
	items := []*document.Node{t}
	if t.Kind == document.List {
		items = t.Items
	}
	n := p.measured.Network
	var out []int
	var known []string
	taken := map[int]bool{}
	for _, y := range items {
		before := d.CountErrors()
		pattern := d.ReadText(y)
		found, grouped := d.groups[pattern]
		if !grouped {
			found = d.matchNodes(y.Position, pattern, false, n)
		}
		if d.CountErrors() > before {
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
			onRepeat(y, pattern)
		}
		if i, ok := d.directory.indexNetwork(n).nodes[pattern]; ok && n.Nodes[i].Switch {
			d.Fail(y.Position, document.JoinNear(pattern, d.directory.hosts), "%q is a switch; flows go from host to host",
				pattern)
		} else if len(found) == 0 && !grouped { // an error in a group is reported at the group
			if known == nil { // computed once, since a list may have thousands of unknown hosts
				known = slices.Concat(slices.Sorted(maps.Keys(d.groups)), d.directory.hosts)
			}
			d.FailUnknown(y.Position, "host", pattern, known)
		}
	}
	return out
}

// findLink returns the link between two nodes. It reports an error and returns −1 if there is no such link. Ends are
// names of nodes. One end may have the suffix ~2, ~3, … to select a parallel link.
func (d *nodeNames) findLink(t *document.Node, p *Point) int {
	if t.Kind != document.List || len(t.Items) != 2 {
		d.Fail(t.Position, "[s1, s2]", "the link is not named by its two ends")
		return -1
	}
	n := p.measured.Network
	known := d.directory.indexNetwork(n)
	var ends [2]int
	nth := 0
	for i, x := range t.Items {
		name := d.ReadText(x)
		node, found := known.nodes[name]
		if before, number, has := strings.Cut(name, "~"); has && !found && nth == 0 { // the form of ports' names
			if k, err := strconv.Atoi(number); err == nil && k > 0 {
				nth = k
				node, found = known.nodes[before]
			}
		}
		if !found {
			d.FailUnknown(x.Position, "node", x.Text, known.all)
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
				if l.Nth > 0 { // the form of ports' names
					name += "~" + strconv.Itoa(int(l.Nth)+1)
				}
				neighbours = append(neighbours, name)
			}
		}
	}
	d.Fail(t.Position, t.Items[0].Text+" has links to "+document.JoinChoices(neighbours),
		"no link joins %s and %s",
		t.Items[0].Text, t.Items[1].Text)
	return -1
}

// A sender needs a path to each of its receivers, but not to other hosts. Hosts do not forward, so a path from a to b
// and a path from b to c do not give a path from a to c.

// checkPath reports whether there is a path from one host to another, and reports an error at a place if not.
func (d *nodeNames) checkPath(place document.Position, p *Point, from, to int) bool {
	if p.measured.Routes.AreJoined(from, to) {
		return true
	}
	n := p.measured.Network
	for _, host := range []int{from, to} {
		if !slices.ContainsFunc(n.Links, func(l topology.Link) bool { return l.Ends[0] == host || l.Ends[1] == host }) {
			d.Fail(place, "hosts with a link; add one under topology.links", "the host %s has no link", n.Nodes[host].Name)
			return false
		}
	}
	d.Fail(place, "hosts that are connected by links and switches", "no path leads from %s to %s", n.Nodes[from].Name,
		n.Nodes[to].Name)
	return false
}

// checkPaths reports whether each of the pairs has a path, and reports an error for the first pair without one.
func (d *nodeNames) checkPaths(place document.Position, p *Point, pairs iter.Seq2[int, int]) bool {
	for from, to := range pairs {
		if !d.checkPath(place, p, from, to) {
			return false
		}
	}
	return true
}
