package topology

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// findComponents returns, for each NIC, the number of the connected group of switches that its link leads to. It is −1
// where the link leads to another host, or the host has no link. Two NICs with the same number have a path over
// switches.
func (r *Routes) findComponents() []int32 {
	parent := make([]int32, len(r.network.Nodes)) // by switch: parent in a union-find
	for i := range parent {
		parent[i] = int32(i)
	}
	root := func(sw int) int32 {
		for int(parent[sw]) != sw {
			parent[sw] = parent[parent[sw]]
			sw = int(parent[sw])
		}
		return int32(sw)
	}
	nodes := r.network.Nodes
	for i := range r.network.Links {
		if e := r.network.Links[i].Ends; nodes[e[0]].Switch && nodes[e[1]].Switch {
			parent[root(e[0])] = root(e[1])
		}
	}
	out := make([]int32, r.nics.Len())
	for nic := range out {
		host := r.nics.HostOf(nic)
		out[nic] = -1
		if k := r.nics.PortOf(nic); !nodes[host].Switch && k < len(r.ports[host]) {
			if other := r.network.otherNode(r.ports[host][k]); nodes[other].Switch {
				out[nic] = root(other)
			}
		}
	}
	return out
}

// AreJoined reports whether there is a path from a NIC of one host to a NIC of another: over a link between them, or
// over switches with a link to each. It is not transitive, because hosts do not forward.
func (r *Routes) AreJoined(sender, receiver int) bool {
	for k, p := range r.ports[sender] {
		group := r.component[r.nics.NumberOf(sender, k)]
		if group < 0 && r.network.otherNode(p) == receiver || group >= 0 && r.leadsTo(receiver, group) {
			return true
		}
	}
	return false
}

// checkJoined returns an error that names the hosts if they are not joined (AreJoined).
func (r *Routes) checkJoined(sender, receiver int) error {
	if r.AreJoined(sender, receiver) {
		return nil
	}
	return fmt.Errorf("no path leads from %s to %s", r.network.Nodes[sender].Name, r.network.Nodes[receiver].Name)
}

// leadsTo reports whether a NIC of a host is at a group of switches (findComponents).
func (r *Routes) leadsTo(host int, group int32) bool {
	for k := range r.ports[host] {
		if r.component[r.nics.NumberOf(host, k)] == group {
			return true
		}
	}
	return false
}

// ShareGroup reports whether each of the hosts has a NIC at the same group of connected switches, so that every two of
// them are joined (AreJoined). It takes time in proportion to the number of their NICs, not of their pairs. It is true
// for no hosts.
func (r *Routes) ShareGroup(hosts []int) bool {
	counted := make([]bool, len(r.network.Nodes)) // hosts
	counts := make([]int32, len(r.network.Nodes)) // hosts by group
	lastHost := make([]int, len(r.network.Nodes)) // by group, the last one counted, + 1
	distinct, most := int32(0), int32(0)
	for _, host := range hosts {
		if counted[host] {
			continue
		}
		counted[host] = true
		distinct++
		for k := range r.ports[host] {
			group := r.component[r.nics.NumberOf(host, k)]
			if group >= 0 && lastHost[group] != host+1 {
				lastHost[group] = host + 1
				counts[group]++
				most = max(most, counts[group])
			}
		}
	}
	return most == distinct
}

// FindUnjoined returns the first pair of a sender and a receiver, in the order of the lists, that are different hosts
// and not joined (AreJoined). found is false if every sender has a path to every receiver.
func (r *Routes) FindUnjoined(senders, receivers []int) (from, to int, found bool) {
	if r.ShareGroup(slices.Concat(senders, receivers)) {
		return 0, 0, false
	}
	checked := map[string]bool{} // hosts at the same groups of switches reach the same hosts
	var groups []byte
	for _, from := range senders {
		groups = groups[:0]
		direct := len(r.ports[from]) == 0
		for k := range r.ports[from] {
			group := r.component[r.nics.NumberOf(from, k)]
			direct = direct || group < 0
			groups = binary.LittleEndian.AppendUint32(groups, uint32(group))
		}
		if !direct {
			if checked[string(groups)] {
				continue
			}
			checked[string(groups)] = true
		}
		for _, to := range receivers {
			if from != to && !r.AreJoined(from, to) {
				return from, to, true
			}
		}
	}
	return 0, 0, false
}
