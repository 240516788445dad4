package topology

import (
	"fmt"
	"net/netip"
	"slices"

	"weir/core/packet"
)

// PortRef is a node's port: one end of a link.
type PortRef struct {
	Link, End int // Network.Links[Link].Ends[End] is the node
}

// Ports returns the ports of every node: a node's k-th link, in the order of Links, is its port k.
func (n *Network) Ports() [][]PortRef {
	degree := make([]int, len(n.Nodes))
	for i := range n.Links {
		for _, node := range n.Links[i].Ends {
			degree[node]++
		}
	}
	ports, all := make([][]PortRef, len(n.Nodes)), make([]PortRef, 2*len(n.Links))
	for i, d := range degree {
		ports[i], all = all[:0:d], all[d:]
	}
	for i := range n.Links {
		for e, node := range n.Links[i].Ends {
			ports[node] = append(ports[node], PortRef{i, e})
		}
	}
	return ports
}

// Addresses assigns an address to every node and every further NIC of a host. Number i (NICs) has packet.Addr i+1, the
// IPv4 address 10.0.0.0 + i+1 and the IPv6 address fd00:: + i+1.
func (n *Network) Addresses() *packet.Book {
	b := packet.NewBook()
	for i := range n.NICs().Len() {
		b.Add(flatAddresses(i))
	}
	return b
}

// flatAddresses returns the addresses of a node, or of a NIC.
func flatAddresses(node int) (v4, v6 netip.Addr) {
	v := uint32(node + 1)
	a := [16]byte{0: 0xfd, 12: uint8(v >> 24), 13: uint8(v >> 16), 14: uint8(v >> 8), 15: uint8(v)}
	return netip.AddrFrom4([4]byte{10, uint8(v >> 16), uint8(v >> 8), uint8(v)}), netip.AddrFrom16(a)
}

// Routes are the shortest paths of a network from its switches to its hosts' NICs, by number of links as in the HPCC
// simulator. A path ends at a NIC: a host forwards neither to other hosts nor to its own other NICs. As a NIC has one
// link, all NICs at a switch share the paths to it: they are a class (packet.Paths). Routes never change, so all users
// of a network share them. Methods that take a host also take the number of one of its NICs (NICs).
type Routes struct {
	network   *Network
	nics      *NICs
	ports     [][]PortRef
	paths     []packet.Paths // by node
	component []int32        // by NIC (findComponents)
}

// CountClasses returns the number of classes of hosts (packet.Paths), which is the number of switches with hosts.
// Routes have this many entries for each switch.
func (n *Network) CountClasses() int {
	last := make([]bool, len(n.Nodes))
	classes := 0
	for _, l := range n.Links {
		for e, node := range l.Ends {
			if n.Nodes[node].Switch && !n.Nodes[l.Ends[1-e]].Switch && !last[node] {
				last[node] = true
				classes++
			}
		}
	}
	return classes
}

// Routes computes the routes of a network, which must be valid.
func (n *Network) Routes() *Routes {
	r := &Routes{network: n, nics: n.NICs(), ports: n.Ports(), paths: make([]packet.Paths, len(n.Nodes))}
	class := make([]uint32, r.nics.Len()+1) // by address, which is a NIC's number + 1
	port := make([]packet.PortID, r.nics.Len()+1)
	lasts := []int{-1} // by class: the switch of its hosts
	for sw, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		for k, p := range r.ports[sw] {
			host := n.Links[p.Link].Ends[1-p.End]
			if n.Nodes[host].Switch {
				continue
			}
			if r.paths[sw].OwnClass == 0 {
				r.paths[sw].OwnClass = uint32(len(lasts))
				lasts = append(lasts, sw)
			}
			nic := r.nics.NumberOf(host, n.portOf(r.ports[host], p.Link))
			class[nic+1], port[nic+1] = r.paths[sw].OwnClass, packet.PortID(k)
		}
	}
	r.component = r.findComponents()
	var s *portSets
	if t, err := n.FindTree(); err == nil {
		s = r.treeRoutes(t, lasts)
	} else {
		s = r.searchRoutes(lasts)
	}
	for sw := range r.paths {
		if p := &r.paths[sw]; n.Nodes[sw].Switch {
			p.Class, p.Port, p.Sets = class, port, s.all
		}
	}
	return r
}

// portOf returns the port of a node that is an end of a link; ports are the node's ports; −1: it is no end of the link.
func (n *Network) portOf(ports []PortRef, link int) int {
	return slices.IndexFunc(ports, func(p PortRef) bool { return p.Link == link })
}

// searchRoutes computes the routes of any network, by a search for each class. lasts are the switches of the classes.
// It sets Via of the switches' paths, and returns the sets of ports to which these refer.
func (r *Routes) searchRoutes(lasts []int) *portSets {
	s := r.network.newSearch(r.ports)
	all := make([]uint32, len(s.switches)*len(lasts))
	for c := 1; c < len(lasts); c++ {
		s.searchToward(s.number[lasts[c]], all, len(lasts), c)
	}
	for i, sw := range s.switches {
		r.paths[sw].Via = all[i*len(lasts):][:len(lasts):len(lasts)]
	}
	return &s.portSets
}

// pathSearch computes shortest paths over switches, breadth first.
type pathSearch struct {
	switches []int   // nodes
	number   []int32 // by node, the index into switches
	first    []int32 // by switch, its first entry in next and port
	next     []int32 // neighbours of each switch that are switches, in the order of ports
	port     []packet.PortID

	distance []int32 // by switch, in the current search
	queue    []int32
	ways     []packet.PortID

	portSets
}

// portSets stores sets of ports without duplicates.
type portSets struct {
	all   [][]packet.PortID // the first is empty
	index map[string]uint32 // of sets, by their bytes
	bytes []byte
}

func newSets() portSets { return portSets{all: make([][]packet.PortID, 1), index: map[string]uint32{}} }

// newSearch prepares a search over the network's switches; ports are Network.Ports.
func (n *Network) newSearch(ports [][]PortRef) *pathSearch {
	s := &pathSearch{number: make([]int32, len(n.Nodes)), portSets: newSets()}
	for node := range n.Nodes {
		if n.Nodes[node].Switch {
			s.number[node] = int32(len(s.switches))
			s.switches = append(s.switches, node)
		}
	}
	for _, sw := range s.switches {
		s.first = append(s.first, int32(len(s.next)))
		for k, p := range ports[sw] {
			if other := n.Links[p.Link].Ends[1-p.End]; n.Nodes[other].Switch {
				s.next, s.port = append(s.next, s.number[other]), append(s.port, packet.PortID(k))
			}
		}
	}
	s.first = append(s.first, int32(len(s.next)))
	s.distance, s.queue = make([]int32, len(s.switches)), make([]int32, 0, len(s.switches))
	return s
}

// searchToward computes the sets of ports on shortest paths to the switch target. It writes the set of switch i to
// table[i·stride + class], 0 without a path. The class is above 0.
func (s *pathSearch) searchToward(target int32, table []uint32, stride, class int) {
	const far = 1 << 30
	for i := range s.distance {
		s.distance[i] = far
	}
	s.distance[target] = 0
	s.queue = append(s.queue[:0], target)
	for k := 0; k < len(s.queue); k++ {
		at := s.queue[k]
		d := s.distance[at]
		s.ways = s.ways[:0]
		for i := s.first[at]; i < s.first[at+1]; i++ {
			next := s.next[i]
			switch s.distance[next] {
			case far:
				s.distance[next] = d + 1
				s.queue = append(s.queue, next)
			case d - 1:
				s.ways = append(s.ways, s.port[i])
			}
		}
		if at != target {
			i := int(at)*stride + class
			table[i] = s.portSets.setNumber(s.ways, table[i-1])
		}
	}
}

// setNumber returns the number of a set of ports, and adds a new one. likelyNumber is the number of a set that is often
// equal, compared first.
func (s *portSets) setNumber(ports []packet.PortID, likelyNumber uint32) uint32 {
	if slices.Equal(ports, s.all[likelyNumber]) {
		return likelyNumber
	}
	s.bytes = s.bytes[:0]
	for _, p := range ports {
		s.bytes = append(s.bytes, uint8(p), uint8(p>>8))
	}
	i, ok := s.index[string(s.bytes)]
	if !ok {
		i = uint32(len(s.all))
		s.index[string(s.bytes)] = i
		s.all = append(s.all, slices.Clone(ports))
	}
	return i
}

// PathsFrom returns the paths from a switch. Callers must not change them.
func (r *Routes) PathsFrom(sw int) *packet.Paths { return &r.paths[sw] }

// Ports returns the ports of a node: one for each of its links, in the order of Network.Links.
func (r *Routes) Ports(node int) []PortRef { return r.ports[node] }

// nextPort returns the port of a node on a shortest path to a host. node and host may be numbers of NICs. A host has
// one port, its NIC's; for a switch, choose selects one. The result is false without a path or link.
func (r *Routes) nextPort(node, host int, choose func(sw, ways int) int) (PortRef, bool) {
	k := r.nics.PortOf(node)
	if node = r.nics.HostOf(node); r.network.Nodes[node].Switch {
		to := r.paths[node].PortsTo(packet.Addr(host + 1))
		if len(to) == 0 {
			return PortRef{}, false
		}
		k = int(to[choose(node, len(to))])
	}
	if k >= len(r.ports[node]) {
		return PortRef{}, false // a host without a link
	}
	return r.ports[node][k], true
}

// lowestPort selects a switch's lowest port, for walkPath.
func lowestPort(sw, ways int) int { return 0 }

// usualHops is the maximum number of links of a path in most networks.
const usualHops = 8

// FindPath returns the links of a shortest path from a node to a host. Among several paths it returns the one by the
// lowest port of every switch. ok is false if there is no path.
func (r *Routes) FindPath(node, host int) (links []int, ok bool) {
	return r.AppendPath(make([]int, 0, usualHops), node, host)
}

// AppendPath appends the links of FindPath to path. Without a path it returns nil and false.
func (r *Routes) AppendPath(path []int, node, host int) (links []int, ok bool) {
	links = path
	if !r.walkPath(node, host, lowestPort, func(link int) { links = append(links, link) }) {
		return nil, false
	}
	return links, true
}

// FindPathByNumber returns the links of a shortest path from a node to a host, as FindPath does, and nil without a
// path. The number selects one of the equally short paths, and spreads over all of them like a hash of flows.
func (r *Routes) FindPathByNumber(node, host int, number uint32) []int {
	choose := func(sw, ways int) int {
		hash := (number ^ uint32(sw)*0x9e3779b9) * 0x85ebca6b // switches choose independently of each other
		hash ^= hash >> 15
		return int(hash % uint32(ways))
	}
	links := make([]int, 0, usualHops)
	if !r.walkPath(node, host, choose, func(link int) { links = append(links, link) }) {
		return nil
	}
	return links
}

// CountHops returns the number of links of a shortest path from a node to a host; −1 without a path. From a host's NIC
// to itself it is 0.
func (r *Routes) CountHops(node, host int) int {
	hops := 0
	if !r.walkPath(node, host, lowestPort, func(int) { hops++ }) {
		return -1
	}
	return hops
}

// walkPath visits the links of a shortest path from a node, or a NIC, until it reaches the NIC host. It returns false
// at a dead end: a switch without a route, or another NIC than host, as hosts do not forward. choose selects a
// switch's port among several.
func (r *Routes) walkPath(start, host int, choose func(sw, ways int) int, visit func(link int)) bool {
	for at := start; at != host; {
		if at != start && !r.network.Nodes[r.nics.HostOf(at)].Switch {
			return false
		}
		p, ok := r.nextPort(at, host, choose)
		if !ok {
			return false
		}
		visit(p.Link)
		at = r.otherEnd(p)
	}
	return true
}

// otherEnd returns the other end of a port's link: the number of a switch or of a host's NIC.
func (r *Routes) otherEnd(p PortRef) int {
	node := r.network.otherNode(p)
	if r.network.Nodes[node].Switch {
		return node
	}
	return r.nics.NumberOf(node, r.network.portOf(r.ports[node], p.Link))
}

// Validate returns an error if the network violates a condition on which its users rely. Names are unique, links join
// two different existing nodes, and parallel links differ in Nth. Rates are above 0, and delay, jitter, loss and the
// numbers of nodes, links and ports are in their ranges.
func (n *Network) Validate() error {
	if len(n.Nodes) > largestNetwork || len(n.Links) > largestNetwork {
		return fmt.Errorf("%d nodes and %d links; allowed: at most %d of each", len(n.Nodes), len(n.Links),
			largestNetwork)
	}
	names := map[string]bool{}
	for _, node := range n.Nodes {
		if names[node.Name] {
			return fmt.Errorf("two nodes are named %s", node.Name)
		}
		names[node.Name] = true
	}
	degree := make([]int, len(n.Nodes))
	for i, l := range n.Links {
		for _, e := range l.Ends {
			if e < 0 || e >= len(n.Nodes) {
				return fmt.Errorf("link %d ends at node %d; there are %d", i, e, len(n.Nodes))
			}
			degree[e]++
		}
		switch {
		case l.Ends[0] == l.Ends[1]:
			return fmt.Errorf("link %d joins %s to itself", i, n.Nodes[l.Ends[0]].Name)
		case (l.Rate.Bits > 0) == (l.Rate.Packets > 0) || l.Rate.Bits < 0 || l.Rate.Packets < 0:
			return fmt.Errorf("link %d (%s) needs a rate above 0, in bit/s or in packets/s", i, n.PortName(i, 0))
		case l.Delay < 0 || l.Jitter < 0 || !(l.Loss >= 0 && l.Loss < 1):
			return fmt.Errorf("link %d (%s): delay %v, jitter %v, loss %v; allowed: delay and jitter from 0, loss from "+
				"0 to below 1", i, n.PortName(i, 0), l.Delay, l.Jitter, l.Loss)
		}
	}
	for i, d := range degree {
		if limit := n.maxLinks(i); d > limit {
			return fmt.Errorf("%s has %d links, more than the %d that %s can have", n.Nodes[i].Name, d, limit,
				map[bool]string{true: "a switch", false: "a host"}[n.Nodes[i].Switch])
		}
	}
	return n.checkBundleNames()
}

// checkBundleNames returns an error if parallel links have the same Link.Nth.
func (n *Network) checkBundleNames() error {
	type named struct {
		ends [2]int
		nth  uint16
	}
	there := make(map[named]bool, len(n.Links))
	for i, l := range n.Links {
		x := named{[2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}, l.Nth}
		if there[x] {
			return fmt.Errorf("two links are named %s", n.PortName(i, 0))
		}
		there[x] = true
	}
	return nil
}

// maxNICs is the maximum number of NICs of a host.
const maxNICs = 256

// maxLinks returns the maximum number of links of a node: of a host one for each NIC, of a switch the number of ports
// of packet.PortID.
func (n *Network) maxLinks(node int) int {
	if n.Nodes[node].Switch {
		return int(packet.NoPort)
	}
	return maxNICs
}
