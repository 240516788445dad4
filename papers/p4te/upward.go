package p4te

import (
	"slices"

	"weir/core/packet"
)

// UpwardTable is one upward table (P4TE §6.2.1.2): the ports of each routing group. Select takes the first non-empty
// group, and in it a port by hash.
type UpwardTable struct {
	groups [][]packet.PortID // ascending in each
	first  int               // first non-empty group; len(groups): all are empty
}

// NewUpward returns a table of n ≥ 1 groups with all ports, which must be ascending, in the first.
func NewUpward(n int, ports []packet.PortID) *UpwardTable {
	u := &UpwardTable{groups: make([][]packet.PortID, n)}
	for i := range u.groups {
		u.groups[i] = make([]packet.PortID, 0, len(ports))
	}
	u.groups[0] = append(u.groups[0], ports...)
	u.findFirst()
	return u
}

// findFirst sets first.
func (u *UpwardTable) findFirst() {
	for u.first = 0; u.first < len(u.groups) && len(u.groups[u.first]) == 0; u.first++ {
	}
}

// Apply applies a write. Entering or leaving twice has no effect.
func (u *UpwardTable) Apply(w Write) {
	g := &u.groups[w.Group]
	i, there := slices.BinarySearch(*g, w.Port)
	switch {
	case w.Enter && !there:
		*g = slices.Insert(*g, i, w.Port)
	case !w.Enter && there:
		*g = slices.Delete(*g, i, i+1)
	}
	u.findFirst()
}

// Select returns a port of the first non-empty group, by hash; false if the table is empty.
func (u *UpwardTable) Select(hash uint32) (packet.PortID, bool) {
	if u.first == len(u.groups) {
		return 0, false
	}
	g := u.groups[u.first]
	return g[uint64(hash)*uint64(len(g))>>32], true
}

// Group returns the ports of a group, ascending. The result is valid until the next Apply.
func (u *UpwardTable) Group(i int) []packet.PortID { return u.groups[i] }

// CountPorts returns the number of ports in the table.
func (u *UpwardTable) CountPorts() (n int) {
	for _, g := range u.groups {
		n += len(g)
	}
	return n
}
