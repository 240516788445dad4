package tm

import "weir/core/packet"

// ways is how many queues a set of CAKE's hash has (CAKE §III).
const ways = 8

// cakeHost is a place for a host as a source, and for one as a destination.
type cakeHost struct {
	tag  [2]uint32
	busy [2]int32 // busy flows of each
}

// mixed is a hash every bit of which every bit of x and seed reaches (the finaliser of MurmurHash3).
func mixed(x, seed uint32) uint32 {
	h := x ^ seed
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// place is the list of a packet. Its flow's hash names a place and with it a set of 8. The flow has the place in that
// set that it had before, from its own one on; else the first one that no flow holds; else its own, which it shares
// from now on and whose hosts become its (CAKE §III; order and the hosts' of tc-cake: sch_cake.c).
func (k *cake) place(p *packet.Packet) int32 {
	src, dst := mixed(k.port.host(p.Src, p.Version), k.seed), mixed(k.port.host(p.Dst, p.Version), k.seed)
	tag := mixed(p.Hash, k.seed)
	if k.anything {
		tag = 0
	} else if k.byHost[0] || k.byHost[1] {
		tag = 0
		if k.byHost[0] {
			tag = src
		}
		if k.byHost[1] {
			tag ^= mixed(dst, 0) // so that two hosts have two flows, one each way
		}
	}
	own := int32(tag % uint32(len(k.queues)-1))
	if q := &k.queues[1+own]; q.tag == tag && q.set != gone {
		return 1 + own
	}
	i, held := k.search(own, tag)
	q := &k.queues[1+i]
	if held {
		return 1 + i
	}
	if q.set == busy {
		k.charge(1+i, -1)
	}
	q.tag = tag
	for side, hash := range [2]uint32{src, dst} {
		if k.sides[side] {
			q.host[side] = k.host(side, hash)
		}
	}
	if q.set == busy {
		k.charge(1+i, 1)
	}
	return 1 + i
}

// search looks in the set of a place, from that on and round, for the one that a flow has or may have; held: it is in
// use, and the flow's.
func (k *cake) search(own int32, tag uint32) (i int32, held bool) {
	set, way := own&^(ways-1), own&(ways-1)
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
	return own, false
}

// host is the place of a host: the one that it has in its set; else the first that has no busy flows; else its own.
func (k *cake) host(side int, tag uint32) int32 {
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
