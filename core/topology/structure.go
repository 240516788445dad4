package topology

import (
	"encoding/binary"

	"weir/core/packet"
)

// The shortest paths of a fat tree (Tree) need no search. A leaf reaches another one by any of its spines: each has a
// link to every leaf of its pod and, with several pods, to a super spine with a link into every pod. A spine reaches
// the leaves of its pod by its link to each, and others by any of its super spines. A super spine reaches a pod by its
// link into it.
//
// Many switches then have the same table: all leaves with the same uplink ports, and all spines of a pod. They share
// it, which saves most of the memory.

// treeRoutes computes the routes of a fat tree; lasts are the leaves by class. It sets Via of the switches' paths, and
// returns the sets of ports to which these refer.
func (r *Routes) treeRoutes(t *Tree, lasts []int) *portSets {
	s := newSets()
	row, shared := make([]uint32, len(lasts)), map[string][]uint32{}
	var bytes []byte
	into := map[int]uint32{} // set by which a super spine reaches a pod
	for sw, node := range r.network.Nodes {
		if !node.Switch {
			continue
		}
		up := s.setNumber(t.Up[sw], 0)
		for c := range row[1:] {
			row[1+c] = up
		}
		for _, k := range t.Down[sw] {
			below, way := r.network.otherNode(r.ports[sw][k]), s.setNumber([]packet.PortID{k}, 0)
			switch t.Tier[sw] {
			case 2:
				row[r.paths[below].OwnClass] = way
			case 3:
				into[t.Pod[below]] = way
			}
		}
		if t.Tier[sw] == 3 {
			for c := range row[1:] {
				row[1+c] = into[t.Pod[lasts[1+c]]]
			}
		}
		bytes = bytes[:0]
		for _, set := range row {
			bytes = binary.LittleEndian.AppendUint32(bytes, set)
		}
		via, there := shared[string(bytes)]
		if !there {
			via = append([]uint32(nil), row...)
			shared[string(bytes)] = via
		}
		r.paths[sw].Via = via
	}
	return &s
}
