package p4te

import (
	"slices"

	"weir/core/packet"
)

// Upward is one upward table (§6.2.1.2): the ports of each routing group. Select takes the first group
// that is not empty, and in it the port that a hash selects.
type Upward struct {
	groups [][]packet.PortID // ascending in each
	first  int               // the first that is not empty; len(groups): all are empty
}

// NewUpward returns a table of n groups with all ports in the first.
func NewUpward(n int, ports []packet.PortID) *Upward {
	u := &Upward{groups: make([][]packet.PortID, n)}
	for i := range u.groups {
		u.groups[i] = make([]packet.PortID, 0, len(ports))
	}
	u.groups[0] = append(u.groups[0], ports...)
	u.find()
	return u
}

func (u *Upward) find() {
	for u.first = 0; u.first < len(u.groups) && len(u.groups[u.first]) == 0; u.first++ {
	}
}

// Apply carries out a write. A second entry or a second leave changes nothing.
func (u *Upward) Apply(w Write) {
	g := &u.groups[w.Group]
	i, there := slices.BinarySearch(*g, w.Port)
	switch {
	case w.Enter && !there:
		*g = slices.Insert(*g, i, w.Port)
	case !w.Enter && there:
		*g = slices.Delete(*g, i, i+1)
	}
	u.find()
}

// Select returns a port of the first group that is not empty, by hash; false if the table is empty.
func (u *Upward) Select(hash uint32) (packet.PortID, bool) {
	if u.first == len(u.groups) {
		return 0, false
	}
	g := u.groups[u.first]
	return g[uint64(hash)*uint64(len(g))>>32], true
}

// Group returns the ports of a group, ascending.
func (u *Upward) Group(i int) []packet.PortID { return u.groups[i] }

// Entries is the number of ports in the table.
func (u *Upward) Entries() (n int) {
	for _, g := range u.groups {
		n += len(g)
	}
	return n
}
