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
	Host  int // node
	Ports []packet.PortID
}

// Routes returns, for every switch, the routes to all hosts that it can reach, by
// number of links as the HPCC simulator counts; hosts carry nothing for others.
// Ports are ascending. The slice is nil for hosts.
func (n *Network) Routes() [][]Route {
	ports := n.Ports()
	routes := make([][]Route, len(n.Nodes))
	distance := make([]int32, len(n.Nodes))
	var queue []int
	for host, node := range n.Nodes {
		if node.Switch {
			continue
		}
		for i := range distance {
			distance[i] = -1
		}
		distance[host] = 0
		queue = append(queue[:0], host)
		for k := 0; k < len(queue); k++ {
			at := queue[k]
			for _, p := range ports[at] {
				next := n.Links[p.Link].Ends[1-p.End]
				if distance[next] < 0 && n.Nodes[next].Switch {
					distance[next] = distance[at] + 1
					queue = append(queue, next)
				}
			}
		}
		for _, sw := range queue[1:] {
			r := Route{Host: host}
			for k, p := range ports[sw] {
				next := n.Links[p.Link].Ends[1-p.End]
				if distance[next] == distance[sw]-1 && distance[next] >= 0 {
					r.Ports = append(r.Ports, packet.PortID(k))
				}
			}
			routes[sw] = append(routes[sw], r)
		}
	}
	return routes
}

// Hops returns how many links a shortest path from host a to host b has, −1 if
// there is none.
func (n *Network) Hops(a, b int) int {
	ports := n.Ports()
	distance := map[int]int{a: 0}
	queue := []int{a}
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		if at == b {
			return distance[at]
		}
		if at != a && !n.Nodes[at].Switch {
			continue
		}
		for _, p := range ports[at] {
			next := n.Links[p.Link].Ends[1-p.End]
			if _, seen := distance[next]; !seen {
				distance[next] = distance[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return -1
}

// Validate checks what every user of a network relies on.
func (n *Network) Validate() error {
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
		case (l.Rate.Bits > 0) == (l.Rate.Packets > 0):
			return fmt.Errorf("link %d needs a rate above 0", i)
		case l.Delay < 0 || l.Jitter < 0 || !(l.Loss >= 0 && l.Loss < 1):
			return fmt.Errorf("link %d: delay, jitter or loss is out of range", i)
		}
	}
	for i, d := range degree {
		if !n.Nodes[i].Switch && d > 1 {
			return fmt.Errorf("host %s has %d links; a host has one NIC", n.Nodes[i].Name, d)
		}
	}
	return nil
}
