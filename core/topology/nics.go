package topology

import "fmt"

// NICs numbers the NICs of hosts. A host has one for each of its links, and each NIC has its own address. The first
// NIC of a host has the number of its node, so NICs and nodes are the same where hosts have one link. Further NICs
// follow after all nodes, in the order of hosts and of their links. A NIC's packet.Addr is its number + 1.
type NICs struct {
	nodes  int
	second []int32 // by node: the number of its second NIC; nil: every host has one NIC
	owner  []int32 // by number − nodes: the host
}

// NICs numbers the NICs of the network's hosts, as type NICs describes.
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

// Len returns the largest number + 1.
func (x *NICs) Len() int { return x.nodes + len(x.owner) }

// HasSeveral reports whether any host has more than one NIC.
func (x *NICs) HasSeveral() bool { return x.second != nil }

// HostOf returns the host of a NIC; a switch's number is its own.
func (x *NICs) HostOf(nic int) int {
	if nic < x.nodes {
		return nic
	}
	return int(x.owner[nic-x.nodes])
}

// PortOf returns the number of a NIC among the ports of its host.
func (x *NICs) PortOf(nic int) int {
	if nic < x.nodes {
		return 0
	}
	return nic - int(x.second[x.owner[nic-x.nodes]]) + 1
}

// NumberOf returns the number of a host's NIC at a port. The host must have the port.
func (x *NICs) NumberOf(host, port int) int {
	if port == 0 {
		return host
	}
	return int(x.second[host]) + port - 1
}

// CountOf returns the number of NICs of a host, which must have a link.
func (x *NICs) CountOf(host int) int {
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

// NICPair has the NICs of a flow: the sender's and the receiver's.
type NICPair struct{ From, To int }

// findNearest returns the pairs of NICs of two hosts with the fewest links between them, in the order of the sender's
// ports and then of the receiver's, and the number of these links; −1: no pair has a path. Hosts do not forward, so an
// NVLink-like switch of a server leads only to the hosts of that server, and is nearest there.
func (r *Routes) findNearest(sender, receiver int) (pairs []NICPair, hops int) {
	hops = -1
	for i := range r.nics.CountOf(sender) {
		of, h := r.nearestOf(r.nics.NumberOf(sender, i), receiver)
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

// NearestPair returns the first of the nearest pairs of NICs of two hosts; joined is false if there is no path.
func (r *Routes) NearestPair(sender, receiver int) (p NICPair, joined bool) {
	if !r.nics.HasSeveral() {
		return NICPair{sender, receiver}, r.CountHops(sender, receiver) >= 0
	}
	pairs, hops := r.findNearest(sender, receiver)
	if hops < 0 {
		return NICPair{sender, receiver}, false
	}
	return pairs[0], true
}

// NICs returns the numbers of the network's NICs.
func (r *Routes) NICs() *NICs { return r.nics }

// NICChoice is the method by which a host with several NICs selects the NIC of a flow.
type NICChoice string

// Choices of NICs. All except Rail and a named port select one of the nearest pairs of NICs.
const (
	Hashed     NICChoice = "hash"        // drawn by the flow's number, like a hash over its addresses and ports
	RoundRobin NICChoice = "round_robin" // the host's next NIC in turn
	// the sender's next NIC that leads to the receiver, and the receiver's NIC of the same number
	Rail NICChoice = "rail"
)

// Choices returns all choices.
func Choices() []NICChoice { return []NICChoice{Hashed, RoundRobin, Rail} }

// NICSelector assigns NICs to flows, in the order of the calls.
type NICSelector struct {
	routes *Routes
	turns  []int                 // by host
	near   map[NICPair][]NICPair // cache by hosts of the nearest NICs, as messages repeat between the same hosts
}

// maxNear limits the pairs of hosts in the cache.
const maxNear = 1 << 20

// NewNICSelector returns a selector for the network's hosts.
func (r *Routes) NewNICSelector() *NICSelector {
	c := &NICSelector{routes: r}
	if r.nics.HasSeveral() { // otherwise there is no choice
		c.turns, c.near = make([]int, r.nics.nodes), map[NICPair][]NICPair{}
	}
	return c
}

// nearestPairs returns the nearest pairs of NICs of two hosts, nil if no path joins them. It fills the cache. The slice
// is shared by calls and must not be changed.
func (c *NICSelector) nearestPairs(sender, receiver int) []NICPair {
	of := NICPair{sender, receiver}
	pairs, known := c.near[of]
	if !known {
		if pairs, _ = c.routes.findNearest(sender, receiver); len(c.near) < maxNear {
			c.near[of] = pairs
		}
	}
	return pairs
}

// ChoosePair returns a flow's pair of NICs; number is the flow's number in its traffic. With a port ≥ 0 the flow uses
// that port of the sender with any choice, and the nearest NIC of the receiver from there. RoundRobin and Rail move the
// sender's turn. It returns an error if the choice is impossible.
func (c *NICSelector) ChoosePair(choice NICChoice, port, sender, receiver int, number uint32) (NICPair, error) {
	return c.ChooseUpPair(choice, port, sender, receiver, number, func(int) bool { return true })
}

// ChooseUpPair is ChoosePair with the NICs for which isUp reports that their link is up. By hash or in turn a flow uses
// two of these if they have a path, like bonded interfaces, where a host and its switches use the links that are up.
// Only flows with a NIC that is down use others. With Rail, or a port, a flow keeps its NIC even if that is down.
func (c *NICSelector) ChooseUpPair(choice NICChoice, port, sender, receiver int, number uint32,
	isUp func(nic int) bool) (NICPair, error) {
	r := c.routes
	if !r.nics.HasSeveral() {
		return NICPair{sender, receiver}, r.checkJoined(sender, receiver)
	}
	name := func(host int) string { return r.network.Nodes[host].Name }
	bound := port >= 0 || choice == Rail
	if port < 0 && choice == Rail {
		port = c.nextRail(sender, receiver)
	}
	pairs := c.nearestPairs(sender, receiver)
	if len(pairs) == 0 {
		return NICPair{}, r.checkJoined(sender, receiver)
	}
	if port >= 0 {
		if port >= r.nics.CountOf(sender) {
			return NICPair{}, fmt.Errorf("%s has %d NICs, and NIC %d is asked for; they count from 0", name(sender),
				r.nics.CountOf(sender), port)
		}
		var least int
		if pairs, least = r.nearestOf(r.nics.NumberOf(sender, port), receiver); least < 0 {
			return NICPair{}, fmt.Errorf("no path leads from NIC %d of %s to %s", port, name(sender), name(receiver))
		}
		for _, p := range pairs {
			if r.nics.PortOf(p.To) == port {
				return p, nil // the same rail
			}
		}
	}
	p := c.choosePair(choice, pairs, sender, receiver, number)
	if bound || isUp(p.From) && isUp(p.To) {
		return p, nil
	}
	return c.Reroute(choice, p, number, isUp), nil
}

// choosePair selects one of several pairs of NICs, in turn with RoundRobin and else by a hash of the number and the
// hosts. With RoundRobin it moves the sender's turn.
func (c *NICSelector) choosePair(choice NICChoice, pairs []NICPair, sender, receiver int, number uint32) NICPair {
	if len(pairs) == 1 {
		return pairs[0]
	}
	if choice == RoundRobin {
		c.turns[sender]++
		return pairs[(c.turns[sender]-1)%len(pairs)]
	}
	h := (uint64(number)<<32 | uint64(uint32(sender*31+receiver))) * 0x9e3779b97f4a7c15 // Fibonacci hashing
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return pairs[int(h>>33)%len(pairs)]
}

// Reroute returns another pair of NICs for a flow that had pair p, as ChooseUpPair does for NICs that are up; p if
// there is no other. RoundRobin moves the sender's turn. It may be called at the same time for flows of different
// hosts, but not of the same host.
func (c *NICSelector) Reroute(choice NICChoice, p NICPair, number uint32, isUp func(nic int) bool) NICPair {
	from, to := c.routes.nics.HostOf(p.From), c.routes.nics.HostOf(p.To)
	if pairs := c.routes.nearestUp(from, to, isUp); len(pairs) > 0 {
		// another hash, since all affected flows share the NIC
		return c.choosePair(choice, pairs, from, to, number*0x2c1b3c6d+1)
	}
	return p
}

// nearestUp is findNearest among NICs that are up, without the number of links.
func (r *Routes) nearestUp(sender, receiver int, isUp func(nic int) bool) (pairs []NICPair) {
	hops := -1
	for i := range r.nics.CountOf(sender) {
		nic := r.nics.NumberOf(sender, i)
		for k := range r.nics.CountOf(receiver) {
			p := NICPair{nic, r.nics.NumberOf(receiver, k)}
			h := r.CountHops(p.From, p.To)
			switch {
			case h < 0 || hops >= 0 && h > hops || !isUp(p.From) || !isUp(p.To):
				continue
			case h != hops:
				pairs, hops = pairs[:0], h
			}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// PairOfTurn returns the pair of NICs of a turn, which is 0 or more. Turn 0 is the first of the sender's NICs that are
// nearest to the receiver, and after the last one the turns repeat. The receiver's NIC is the one with the same number,
// or the first of the nearest. ways is the number of the sender's NICs that have turns. It fills the cache, but moves
// no turn. It fails if no path joins the hosts.
func (c *NICSelector) PairOfTurn(turn, sender, receiver int) (p NICPair, ways int, err error) {
	r := c.routes
	if !r.nics.HasSeveral() {
		return NICPair{sender, receiver}, 1, r.checkJoined(sender, receiver)
	}
	pairs := c.nearestPairs(sender, receiver) // all pairs of a NIC are adjacent
	if len(pairs) == 0 {
		return NICPair{}, 0, r.checkJoined(sender, receiver)
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
		if turn == 0 && (!found || r.nics.PortOf(pairs[i].To) == r.nics.PortOf(pairs[i].From)) {
			p, found = pairs[i], true
		}
	}
	return p, ways, nil
}

// nextRail returns the next port of the sender's NICs that lead to the receiver, in turn; −1: no NIC does. It moves the
// sender's turn.
func (c *NICSelector) nextRail(sender, receiver int) int {
	n := c.routes.nics.CountOf(sender)
	for range n {
		port := c.turns[sender] % n
		c.turns[sender]++
		if _, hops := c.routes.nearestOf(c.routes.nics.NumberOf(sender, port), receiver); hops >= 0 {
			return port
		}
	}
	return -1
}

// nearestOf returns the nearest NICs of a host from a NIC, as pairs, and the number of links to them; −1: no path.
func (r *Routes) nearestOf(nic, receiver int) (pairs []NICPair, hops int) {
	hops = -1
	for k := range r.nics.CountOf(receiver) {
		p := NICPair{nic, r.nics.NumberOf(receiver, k)}
		h := r.CountHops(p.From, p.To)
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
