package topology

import (
	"fmt"
	"net/netip"

	"weir/packet"
)

// PortRef is a node's port: the end of a link.
type PortRef struct {
	Link, End int // Network.Links[Link].Ends[End] is the node
}

// Ports returns the ports of every node: a node's k-th link, in the order of
// Links, is its port k.
func (n *Network) Ports() [][]PortRef {
	ports := make([][]PortRef, len(n.Nodes))
	for i := range n.Links {
		for e, node := range n.Links[i].Ends {
			ports[node] = append(ports[node], PortRef{i, e})
		}
	}
	return ports
}

// Addresses gives every node an address: node i has packet.Addr i+1, the IPv4
// address 10.0.0.0 + i+1 and the IPv6 address fd00:: + i+1.
func (n *Network) Addresses() *packet.Book {
	b := packet.NewBook()
	for i := range n.Nodes {
		v := uint32(i + 1)
		v6 := [16]byte{0: 0xfd, 12: uint8(v >> 24), 13: uint8(v >> 16), 14: uint8(v >> 8), 15: uint8(v)}
		b.Add(netip.AddrFrom4([4]byte{10, uint8(v >> 16), uint8(v >> 8), uint8(v)}), netip.AddrFrom16(v6))
	}
	return b
}

// Route says by which ports of a switch a host is reached on shortest paths.
type Route struct {
	Host  int             // node
	Ports []packet.PortID // ascending; shared among routes, so not to be changed
}

// Routes returns, for every switch, the routes to all hosts that it can reach, by
// number of links as the HPCC simulator counts; hosts carry nothing for others.
// They are ascending by host. The slice is nil for hosts. The network must be
// valid: as a host has one link, all hosts of a switch share the way to it.
func (n *Network) Routes() [][]Route {
	ports := n.Ports()
	routes := make([][]Route, len(n.Nodes))
	toward := make([][][]packet.PortID, len(n.Nodes)) // [last switch][switch]: the ports to take
	distance := make([]int32, len(n.Nodes))
	var queue []int
	for host, node := range n.Nodes {
		if node.Switch || len(ports[host]) == 0 {
			continue
		}
		up := ports[host][0]
		last := n.Links[up.Link].Ends[1-up.End]
		if !n.Nodes[last].Switch {
			continue // two hosts on one cable
		}
		if toward[last] == nil {
			toward[last], queue = n.toward(last, ports, distance, queue)
		}
		for sw, via := range toward[last] {
			switch {
			case sw == last:
				for k, p := range ports[last] {
					if p.Link == up.Link {
						via = []packet.PortID{packet.PortID(k)}
					}
				}
			case via == nil:
				continue
			}
			routes[sw] = append(routes[sw], Route{host, via})
		}
	}
	return routes
}

// toward returns, for every switch, its ports on shortest paths over switches to
// the switch last; nil where there are none. distance and queue are memory to use.
func (n *Network) toward(last int, ports [][]PortRef, distance []int32, queue []int) ([][]packet.PortID, []int) {
	for i := range distance {
		distance[i] = -1
	}
	distance[last] = 0
	queue = append(queue[:0], last)
	var all []packet.PortID
	via := make([][]packet.PortID, len(n.Nodes))
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		first := len(all)
		for i, p := range ports[at] {
			next := n.Links[p.Link].Ends[1-p.End]
			if distance[next] < 0 && n.Nodes[next].Switch {
				distance[next] = distance[at] + 1
				queue = append(queue, next)
			}
			if distance[next] >= 0 && distance[next] == distance[at]-1 {
				all = append(all, packet.PortID(i))
			}
		}
		if len(all) > first {
			via[at] = all[first:len(all):len(all)]
		}
	}
	return via, queue
}

// Hops returns how many links a shortest path from host a to host b has, −1 if
// there is none.
func (n *Network) Hops(a, b int) int {
	ports := n.Ports()
	distance := make([]int, len(n.Nodes)) // plus 1; 0: not seen
	distance[a] = 1
	queue := []int{a}
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		if at == b {
			return distance[at] - 1
		}
		if at != a && !n.Nodes[at].Switch {
			continue
		}
		for _, p := range ports[at] {
			next := n.Links[p.Link].Ends[1-p.End]
			if distance[next] == 0 {
				distance[next] = distance[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return -1
}

// Validate checks what every user of a network relies on.
func (n *Network) Validate() error {
	if len(n.Nodes) > largestNetwork {
		return fmt.Errorf("%d nodes; at most %d are possible", len(n.Nodes), largestNetwork)
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
			return fmt.Errorf("link %d (%s): delay %v, jitter %v, loss %v; delay and jitter from 0, loss from 0 to below 1 are possible",
				i, n.PortName(i, 0), l.Delay, l.Jitter, l.Loss)
		}
	}
	for i, d := range degree {
		if limit := n.mostLinks(i); d > limit {
			return fmt.Errorf("%s has %d links; at most %d are possible", n.Nodes[i].Name, d, limit)
		}
	}
	return nil
}

// mostLinks returns how many links a node can have: a host has one NIC, a switch
// as many ports as packet.PortID can number.
func (n *Network) mostLinks(node int) int {
	if n.Nodes[node].Switch {
		return int(packet.NoPort)
	}
	return 1
}
