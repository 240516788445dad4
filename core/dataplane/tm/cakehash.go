package tm

import "weir/core/packet"

// ways is the number of queues in a set of CAKE's hash (CAKE §III).
const ways = 8

// cakeHost is a place for a host as a source, and for another one as a destination.
type cakeHost struct {
	tag  [2]uint32
	busy [2]int32 // busy flows of each
}

// mixHash returns a hash in which every bit depends on every bit of x and seed (MurmurHash3's finaliser).
func mixHash(x, seed uint32) uint32 {
	h := x ^ seed
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// findList returns the list of a packet. The hash of its flow selects a place and with it a set of 8. If the flow has a
// place in that set, it keeps that one. Otherwise it takes the first free place, from its own one on. Otherwise it
// shares its own place from now on, with its hosts in place of the others (CAKE §III; order and hosts of tc-cake:
// sch_cake.c). It stores the flow and its hosts in the list. Lists are numbered from 1.
func (k *cake) findList(p *packet.Packet) int32 {
	src, dst := mixHash(k.port.hostNumber(p.Src, p.Version), k.seed), mixHash(k.port.hostNumber(p.Dst, p.Version), k.seed)
	tag := mixHash(p.Hash, k.seed)
	if k.oneFlow {
		tag = 0
	} else if k.byHost[0] || k.byHost[1] {
		tag = 0
		if k.byHost[0] {
			tag = src
		}
		if k.byHost[1] {
			tag ^= mixHash(dst, 0) // so that two hosts have two flows, one in each direction
		}
	}
	own := int32(tag % uint32(len(k.queues)-1))
	if q := &k.queues[1+own]; q.tag == tag && q.set != gone {
		return 1 + own
	}
	i, held := k.searchSet(own, tag)
	q := &k.queues[1+i]
	if held {
		return 1 + i
	}
	if q.set == busy {
		k.countBusy(1+i, -1)
	}
	q.tag = tag
	for side, hash := range [2]uint32{src, dst} {
		if k.sides[side] {
			q.host[side] = k.findHost(side, hash)
		}
	}
	if q.set == busy {
		k.countBusy(1+i, 1)
	}
	return 1 + i
}

// searchSet searches the set of a place, from there on and cyclically, for the place that a flow has or may take. held:
// it is in use, by the flow. Places are numbered from 0: place i is list i+1.
func (k *cake) searchSet(place int32, tag uint32) (i int32, held bool) {
	set, way := place&^(ways-1), place&(ways-1)
	for n := range int32(ways) {
		i = set + (way+n)&(ways-1)
		if k.queues[1+i].tag == tag {
			return i, k.queues[1+i].set != gone
		}
	}
	for n := range int32(ways) {
		if i = set + (way+n)&(ways-1); k.queues[1+i].set == gone {
			return i, false
		}
	}
	return place, false
}

// findHost returns the place of a host by its hash tag, on side 0 as a source or 1 as a destination, and stores it
// there: its place in its set; otherwise the first without busy flows; otherwise its own.
func (k *cake) findHost(side int, tag uint32) int32 {
	own := int32(tag % uint32(len(k.hosts)))
	set, way := own&^(ways-1), own&(ways-1)
	for n := range int32(ways) {
		if i := set + (way+n)&(ways-1); k.hosts[i].tag[side] == tag {
			return i
		}
	}
	i := own
	for n := range int32(ways) {
		if x := set + (way+n)&(ways-1); k.hosts[x].busy[side] == 0 {
			i = x
			break
		}
	}
	k.hosts[i].tag[side] = tag
	return i
}
