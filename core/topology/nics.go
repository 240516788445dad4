package topology

import "fmt"

// NICs numbers the NICs of hosts: a host has one for each of its links, and each NIC has an address of its own. The
// first NIC of a host has the number of its node, so that where hosts have one link, NICs and nodes are the same; the
// further ones follow behind all nodes, in the order of hosts and of their links. A NIC's packet.Addr is its number
// + 1.
type NICs struct {
	nodes  int
	second []int32 // by node: the number of its second NIC; nil: no host has one
	owner  []int32 // by number − nodes: the host
}

// NICs returns the numbers of the network's NICs.
func (n *Network) NICs() *NICs {
	x := &NICs{nodes: len(n.Nodes)}
	links := make([]int32, len(n.Nodes))
	more := false
	for i := range n.Links {
		for _, node := range n.Links[i].Ends {
			links[node]++
			more = more || links[node] > 1 && !n.Nodes[node].Switch
		}
	}
	if !more {
		return x
	}
	x.second = make([]int32, len(n.Nodes))
	for node, k := range links {
		if n.Nodes[node].Switch || k < 2 {
			continue
		}
		x.second[node] = int32(x.nodes + len(x.owner))
		for range k - 1 {
			x.owner = append(x.owner, int32(node))
		}
	}
	return x
}

// Len is one more than the largest number.
func (x *NICs) Len() int { return x.nodes + len(x.owner) }

// Several reports whether any host has more than one NIC.
func (x *NICs) Several() bool { return x.second != nil }

// Node is the host of a NIC.
func (x *NICs) Node(nic int) int {
	if nic < x.nodes {
		return nic
	}
	return int(x.owner[nic-x.nodes])
}

// Port is the port of its host that a NIC is.
func (x *NICs) Port(nic int) int {
	if nic < x.nodes {
		return 0
	}
	return nic - int(x.second[x.owner[nic-x.nodes]]) + 1
}

// Number is that of a host's NIC at a port.
func (x *NICs) Number(host, port int) int {
	if port == 0 {
		return host
	}
	return int(x.second[host]) + port - 1
}

// Count is how many NICs a host has, which has a link.
func (x *NICs) Count(host int) int {
	if x.second == nil || x.second[host] == 0 {
		return 1
	}
	first := int(x.second[host])
	n := 1
	for i := first - x.nodes; i < len(x.owner) && int(x.owner[i]) == host; i++ {
		n++
	}
	return n
}

// Pair are the NICs of a flow: the one that it leaves by and the one that it comes in at.
type Pair struct{ From, To int }

// nearest are the pairs of NICs of two hosts with the fewest links between them, in the order of the sender's ports and
// then of the receiver's, and how many links these are; −1: there is no path between any. Hosts do not forward, so an
// NVLink-like switch of a server leads to the hosts of that server only, and is nearest there.
func (r *Routes) nearest(from, to int) (pairs []Pair, hops int) {
	hops = -1
	for i := range r.nics.Count(from) {
		of, h := r.nearestOf(r.nics.Number(from, i), to)
		switch {
		case h < 0 || hops >= 0 && h > hops:
			continue
		case h != hops:
			pairs, hops = pairs[:0], h
		}
		pairs = append(pairs, of...)
	}
	return pairs, hops
}

// Near is the first of the nearest pairs of NICs of two hosts; false: no packet of one can reach the other.
func (r *Routes) Near(from, to int) (p Pair, joined bool) {
	if !r.nics.Several() {
		return Pair{from, to}, r.Hops(from, to) >= 0
	}
	pairs, hops := r.nearest(from, to)
	if hops < 0 {
		return Pair{from, to}, false
	}
	return pairs[0], true
}

// NICs are the numbers of the network's NICs.
func (r *Routes) NICs() *NICs { return r.nics }

// Choice is by which of its NICs a host sends a flow, where it has several.
type Choice string

// The choices. All but Rail and a named port take one of the nearest pairs of NICs.
const (
	Hashed     Choice = "hash"        // drawn by the flow's number, as a hash over its addresses and ports does
	RoundRobin Choice = "round_robin" // each host's next one
	Rail       Choice = "rail"        // those of a sender that lead there, in turn, to the receiver's of the same number
)

// Choices are all of them.
func Choices() []Choice { return []Choice{Hashed, RoundRobin, Rail} }

// NICSelector assigns NICs to flows, in the order of the calls.
type NICSelector struct {
	routes *Routes
	turns  []int           // by host
	near   map[Pair][]Pair // of hosts, the nearest NICs, as messages go between the same hosts again and again
}

// mostNear bounds the pairs of hosts that are remembered.
const mostNear = 1 << 20

// NewNICSelector returns one for a network's hosts.
func (r *Routes) NewNICSelector() *NICSelector {
	c := &NICSelector{routes: r}
	if r.nics.Several() { // or there is nothing to choose
		c.turns, c.near = make([]int, r.nics.nodes), map[Pair][]Pair{}
	}
	return c
}

// nearest are the nearest pairs of NICs of two hosts.
func (c *NICSelector) nearest(from, to int) []Pair {
	of := Pair{from, to}
	pairs, known := c.near[of]
	if !known {
		if pairs, _ = c.routes.nearest(from, to); len(c.near) < mostNear {
			c.near[of] = pairs
		}
	}
	return pairs
}

// Choose gives a flow its pair of NICs; number is that of the flow in its traffic. With a port ≥ 0 it leaves by that
// of the sender, whatever the choice, and comes in at the nearest NIC from there. The error says what is not possible.
func (c *NICSelector) Choose(how Choice, port, from, to int, number uint32) (Pair, error) {
	return c.ChooseUp(how, port, from, to, number, func(int) bool { return true })
}

// ChooseUp is Choose where it is known which NICs have a link that is up. By hash or in turn a flow takes two of these,
// if there are any between which there is a path, as with bonded interfaces, of which a host and the switches before it
// use those that are up; only flows of which a NIC's link is down take others. With Rail, or a port, a flow has its NIC
// whatever becomes of that.
func (c *NICSelector) ChooseUp(how Choice, port, from, to int, number uint32, up func(nic int) bool) (Pair, error) {
	r := c.routes
	if !r.nics.Several() {
		return Pair{from, to}, r.join(from, to)
	}
	name := func(host int) string { return r.network.Nodes[host].Name }
	bound := port >= 0 || how == Rail
	if port < 0 && how == Rail {
		port = c.rail(from, to)
	}
	pairs := c.nearest(from, to)
	if len(pairs) == 0 {
		return Pair{}, r.join(from, to)
	}
	if port >= 0 {
		if port >= r.nics.Count(from) {
			return Pair{}, fmt.Errorf("%s has %d NICs, and NIC %d is asked for; they count from 0", name(from),
				r.nics.Count(from), port)
		}
		var least int
		if pairs, least = r.nearestOf(r.nics.Number(from, port), to); least < 0 {
			return Pair{}, fmt.Errorf("there is no path from NIC %d of %s to %s", port, name(from), name(to))
		}
		for _, p := range pairs {
			if r.nics.Port(p.To) == port {
				return p, nil // the same rail
			}
		}
	}
	p := c.one(how, pairs, from, to, number)
	if bound || up(p.From) && up(p.To) {
		return p, nil
	}
	return c.Reroute(how, p, number, up), nil
}

// one chooses one of several pairs of NICs.
func (c *NICSelector) one(how Choice, pairs []Pair, from, to int, number uint32) Pair {
	if len(pairs) == 1 {
		return pairs[0]
	}
	if how == RoundRobin {
		c.turns[from]++
		return pairs[(c.turns[from]-1)%len(pairs)]
	}
	h := (uint64(number)<<32 | uint64(uint32(from*31+to))) * 0x9e3779b97f4a7c15 // Fibonacci hashing
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return pairs[int(h>>33)%len(pairs)]
}

// Reroute gives a flow that was given this pair another one, as ChooseUp does; the same, if there is none. It may be
// called for flows of several hosts at once, but not for several of one.
func (c *NICSelector) Reroute(how Choice, p Pair, number uint32, up func(nic int) bool) Pair {
	from, to := c.routes.nics.Node(p.From), c.routes.nics.Node(p.To)
	if pairs := c.routes.nearestUp(from, to, up); len(pairs) > 0 {
		return c.one(how, pairs, from, to, number*0x2c1b3c6d+1) // another hash: all that ask have that of one NIC
	}
	return p
}

// nearestUp is nearest of NICs that are up.
func (r *Routes) nearestUp(from, to int, up func(nic int) bool) (pairs []Pair) {
	hops := -1
	for i := range r.nics.Count(from) {
		nic := r.nics.Number(from, i)
		for k := range r.nics.Count(to) {
			p := Pair{nic, r.nics.Number(to, k)}
			h := r.Hops(p.From, p.To)
			switch {
			case h < 0 || hops >= 0 && h > hops || !up(p.From) || !up(p.To):
				continue
			case h != hops:
				pairs, hops = pairs[:0], h
			}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// ByTurn gives a flow the pair of NICs of a turn: of a sender's NICs that are nearest to the receiver the first one has
// turn 0, and behind the last one they begin anew. It comes in at the receiver's NIC of the same number, or at the
// first of the nearest. ways is how many NICs of the sender have turns.
func (c *NICSelector) ByTurn(turn, from, to int) (p Pair, ways int, err error) {
	r := c.routes
	if !r.nics.Several() {
		return Pair{from, to}, 1, r.join(from, to)
	}
	pairs := c.nearest(from, to) // those of a NIC stand together
	if len(pairs) == 0 {
		return Pair{}, 0, r.join(from, to)
	}
	for i := range pairs {
		if i == 0 || pairs[i].From != pairs[i-1].From {
			ways++
		}
	}
	turn %= ways
	found := false
	for i := range pairs {
		if i > 0 && pairs[i].From != pairs[i-1].From {
			turn--
		}
		if turn == 0 && (!found || r.nics.Port(pairs[i].To) == r.nics.Port(pairs[i].From)) {
			p, found = pairs[i], true
		}
	}
	return p, ways, nil
}

// rail is the next of a host's NICs that lead to another host, in turn; −1: none does.
func (c *NICSelector) rail(from, to int) int {
	n := c.routes.nics.Count(from)
	for range n {
		port := c.turns[from] % n
		c.turns[from]++
		if _, hops := c.routes.nearestOf(c.routes.nics.Number(from, port), to); hops >= 0 {
			return port
		}
	}
	return -1
}

// nearestOf are the nearest NICs of a host from a NIC.
func (r *Routes) nearestOf(nic, to int) (pairs []Pair, hops int) {
	hops = -1
	for k := range r.nics.Count(to) {
		p := Pair{nic, r.nics.Number(to, k)}
		h := r.Hops(p.From, p.To)
		switch {
		case h < 0 || hops >= 0 && h > hops:
			continue
		case h != hops:
			pairs, hops = pairs[:0], h
		}
		pairs = append(pairs, p)
	}
	return pairs, hops
}
