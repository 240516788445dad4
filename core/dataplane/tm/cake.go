package tm

import (
	"fmt"
	"strconv"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Cake is how a port shares each of its queues among hosts and, within each, among their flows, and keeps each flow's
// delay short: CAKE's queue management. Of CAKE it is this part: the port's rate is the shaper's; each queue of the
// port is one tin, besteffort, and they are served in strict priority; the limit is the port's; frames are counted by
// the framing of the port; acknowledgements are not filtered, and there is no ingress mode.
type Cake struct {
	Isolation        string
	Flows            int        // queues, ways times the sets
	Quantum          unit.Bytes // 0: by the rate
	Target, Interval unit.Time
	ECN              bool
}

// Isolation is what CAKE is fair among (tc-cake).
const (
	isolateFlows   = "flows"          // 5-tuples
	isolateHosts   = "hosts"          // pairs of source and destination
	isolateSource  = "srchost"        // sources
	isolateDest    = "dsthost"        // destinations
	isolateBySrc   = "dual-srchost"   // sources, and the flows of each
	isolateByDst   = "dual-dsthost"   // destinations, and the flows of each
	isolateBoth    = "triple-isolate" // sources and destinations, and flows: whichever has more busy ones
	isolateNothing = "flowblind"
)

// Params binds the configuration.
func (c *Cake) Params(p *scheme.Params) {
	p.Text(&c.Isolation, "isolation", isolateBySrc, "among whom the port is fair; a host is a user of `users`, and any "+
		"user in weir switch", "tc-cake; ours: the default, there triple-isolate").Words(isolateFlows, isolateHosts,
		isolateSource, isolateDest, isolateBySrc, isolateByDst, isolateBoth, isolateNothing)
	p.Int(&c.Flows, "flows", "1024", "queues for flows, and places for hosts, by a hash that looks for one in sets of 8",
		"CAKE §III; tc-cake: 1024").Min(strconv.Itoa(ways)).Max(strconv.Itoa(maxFlows))
	p.Size(&c.Quantum, "quantum", "0 B", "bytes that the flows of a host may send a turn; 0: what the port "+
		"sends in 1/4096 "+
		"s, within 300 and 1514 bytes", "tc-cake: sch_cake.c").Min("0 B").Max("1MB")
	p.Time(&c.Target, "target", "5ms", "delay that a queue may have for good; at least 1.5 frames", "tc-cake: rtt / 20").
		Above("0s").Max("10s")
	p.Time(&c.Interval, "interval", "100ms", "how long the delay may be above the target: the longest round trip that "+
		"is usual", "tc-cake: rtt").Above("0s").Max("100s")
	p.Bool(&c.ECN, "ecn", "true", "packets of senders that know ECN are marked in place of being dropped, but by BLUE",
		"tc-cake: always")
	p.Rule("flows", func() error {
		if c.Flows%ways != 0 {
			return fmt.Errorf("%d is not a multiple of %d, the queues of a set", c.Flows, ways)
		}
		return nil
	})
	p.Rule("target", func() error { return (&CoDel{Target: c.Target, Interval: c.Interval}).ordered() })
}

// Traits returns the target of delay, by which it marks and drops. The target is one and a half frames where these take
// longer.
func (c *Cake) Traits() Traits {
	return Traits{Marks: true, DropsEarly: true, TargetParam: "target", Target: c.Target, RaisesTarget: true}
}

// newCakeScheduler returns the scheduler of a port whose queues are fair among hosts, with COBALT on each flow. Otherwise it is
// as NewFQ's.
func newCakeScheduler(c Cake, rate unit.LinkRate) Scheduler {
	return &fq{config: FQ{Flows: c.Flows}, cake: &c, rate: rate}
}

// cake is a fair queue's flows under CAKE. A list is in one of three rounds: flows.fresh has the sparse ones,
// flows.old the busy ones, and decaying those without packets whose COBALT still remembers some.
type cake struct {
	*flows
	config   *Cake
	port     *fq
	queues   []caked    // by list, from 1
	hosts    []cakeHost // by place, for sources and destinations alike
	decaying round
	cobaltTimes
	rate     unit.LinkRate // for which times and quantum are
	quantum  int64
	now      unit.Time
	random   uint64  // state of the stream that BLUE draws from
	resume   int32   // list whose packet was dropped last: the one behind that takes its turn; 0: none
	sides    [2]bool // which hosts' busy flows count: the source's, the destination's
	byHost   [2]bool // which hosts make a flow; neither: the 5-tuple does
	anything bool    // or all packets are one
}

// caked is what CAKE knows of a list beside flow.
type caked struct {
	cobalt
	prev int32    // list before it in its round
	host [2]int32 // places of its source and its destination
	tag  uint32   // hash of the flow that the list is for
	part uint16   // of a byte, in 2⁻¹⁶, that it has earned beside its credit
	set  rotation
}

// rotation is where a list is.
type rotation uint8

const (
	gone     rotation = iota // in no round: free for any flow
	sparse                   // first, until its quantum is used up
	waits                    // with the busy ones, but it was empty when it came there: its host does not count it
	busy                     // with the others that always have packets: its host counts it
	decaying                 // empty, and COBALT remembers
)

func newCake(f *flows, s *fq) *cake {
	c := s.cake
	k := &cake{flows: f, config: c, port: s, queues: make([]caked, len(f.lists)), hosts: make([]cakeHost, c.Flows),
		random: uint64(s.config.Seed)}
	for i := range k.queues {
		k.queues[i].changed, k.queues[i].next = longAgo, longAgo
	}
	switch c.Isolation {
	case isolateHosts:
		k.byHost = [2]bool{true, true}
	case isolateSource:
		k.byHost[0] = true
	case isolateDest:
		k.byHost[1] = true
	case isolateBySrc:
		k.sides[0] = true
	case isolateByDst:
		k.sides[1] = true
	case isolateBoth:
		k.sides = [2]bool{true, true}
	case isolateNothing:
		k.anything = true
	}
	k.fit()
	return k
}

// fit works out what depends on the port's rate.
func (k *cake) fit() {
	k.rate = k.port.rate
	k.at(k.config.Target, k.config.Interval, k.port.takes(largeFrame))
	if k.quantum = int64(k.config.Quantum); k.quantum == 0 {
		if k.quantum = largeFrame; k.rate.Bits > 0 {
			k.quantum = max(300, min(int64(k.rate.Bits)/8/4096, largeFrame))
		}
	}
}

// largeFrame is Ethernet's, without its checksum.
const largeFrame = 1514

// load is by what list i's quantum is divided: how many busy flows its host has (CAKE §III; triple isolation: the one
// of its hosts that has more). Sparse flows, as of acknowledgements, do not count (tc-cake: sch_cake.c; since Linux
// 5.1).
func (k *cake) load(i int32) int64 {
	n := int32(1)
	for side, on := range k.sides {
		if on {
			n = max(n, k.hosts[k.queues[i].host[side]].busy[side])
		}
	}
	return int64(n)
}

// earn gives list i its part of a quantum. What division leaves over is kept for the next turn, so that flows of hosts
// with many get what they are due; tc-cake rounds by chance.
func (k *cake) earn(i int32) {
	q := &k.queues[i]
	x := k.quantum<<16/k.load(i) + int64(q.part)
	k.lists[i].credit += int32(x >> 16)
	q.part = uint16(x)
}

// charge adds list i to its hosts' busy flows, or takes it from them.
func (k *cake) charge(i, n int32) {
	for side, on := range k.sides {
		if on {
			k.hosts[k.queues[i].host[side]].busy[side] += n
		}
	}
}

// move takes list i from its round to the end of another: that of set, or none.
func (k *cake) move(i int32, set rotation) {
	q, l := &k.queues[i], &k.lists[i]
	if r := k.round(q.set); r != nil {
		if q.prev == 0 {
			r.first = l.next
		} else {
			k.lists[q.prev].next = l.next
		}
		if l.next == 0 {
			r.last = q.prev
		} else {
			k.queues[l.next].prev = q.prev
		}
	}
	if q.set = set; set == gone {
		return
	}
	r := k.round(set)
	q.prev = r.last
	k.turn(r, i)
}

// round has the lists of a rotation.
func (k *cake) round(set rotation) *round {
	switch set {
	case sparse:
		return &k.fresh
	case waits, busy:
		return &k.old
	case decaying:
		return &k.decaying
	}
	return nil
}

// enter appends p to its list, which becomes sparse if it is in no round.
func (k *cake) enter(p *packet.Packet) {
	k.now = max(k.now, p.Enqueued)
	i := k.place(p)
	k.add(i, p)
	switch k.queues[i].set {
	case gone, decaying:
		k.move(i, sparse)
		k.lists[i].credit = int32(k.quantum / k.load(i))
	case waits:
		k.queues[i].set = busy
		k.charge(i, 1)
	}
}

// leave removes the packet whose turn it is; it is as flows.pop. Every time the first list of those that decay has its
// turn, then the sparse, then the busy ones.
func (k *cake) leave(now unit.Time) (p *packet.Packet, doomed bool) {
	if k.rate != k.port.rate {
		k.fit()
	}
	judged := now >= 0
	if judged {
		k.now = max(k.now, now)
	}
	i := k.resume
	k.resume = 0
	for first := i == 0; k.flows.count > 0; i, first = 0, false {
		if i == 0 {
			i = k.turnOf(first)
		}
		l, q := &k.lists[i], &k.queues[i]
		switch {
		case l.credit <= 0:
			k.again(i)
		case l.head == 0:
			k.quiet(i)
		default:
			p := k.remove(l, l.head)
			if judged {
				markable := k.config.ECN && p.TOS&packet.ECN != packet.NotECT
				mark, drop := q.leaves(&k.cobaltTimes, now, now-p.Enqueued, markable, k.draw)
				if mark {
					p.TOS |= packet.CE
				}
				if drop && l.head != 0 { // the last packet of a list is never dropped
					k.resume = i
					return p, true
				}
			}
			l.credit -= p.Size
			return p, false
		}
	}
	return nil, false
}

// turnOf is the list whose turn it is, while there are packets.
func (k *cake) turnOf(first bool) int32 {
	switch {
	case first && k.decaying.first != 0:
		return k.decaying.first
	case k.fresh.first != 0:
		return k.fresh.first
	case k.old.first != 0:
		return k.old.first
	}
	return k.decaying.first
}

// again sends list i, whose credit is used up, to the end of the busy ones.
func (k *cake) again(i int32) {
	set := k.queues[i].set
	if set == sparse {
		if set = waits; k.lists[i].head != 0 {
			set = busy
			k.charge(i, 1)
		}
	}
	k.earn(i)
	k.move(i, set)
}

// quiet has list i, which has run empty, leave the rounds, or decay.
func (k *cake) quiet(i int32) {
	q := &k.queues[i]
	q.empty(&k.cobaltTimes, k.now)
	if q.set == busy {
		k.charge(i, -1)
	}
	if q.rests(k.now) {
		k.move(i, gone)
	} else {
		k.move(i, decaying)
	}
}

// draw is uniform in 0 … 2³² − 1: the upper half of SplitMix64.
func (k *cake) draw() uint32 {
	k.random += 0x9e3779b97f4a7c15
	z := k.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32((z ^ z>>31) >> 32)
}

// overflow removes the oldest packet of list i for want of room.
func (k *cake) overflow(i int32) *packet.Packet {
	k.queues[i].full(&k.cobaltTimes, k.now)
	return k.remove(&k.lists[i], k.lists[i].head)
}

// yield is as flows.yield: a packet of the longest list gives way, with the arriving one counted.
func (k *cake) yield(arriving *packet.Packet) *packet.Packet {
	k.now = max(k.now, arriving.Enqueued)
	own, i := k.place(arriving), k.longest()
	if l := &k.lists[own]; i == 0 || l.bytes+int64(arriving.Size) >= k.lists[i].bytes {
		if i = own; l.head == 0 {
			k.queues[i].full(&k.cobaltTimes, k.now)
			return nil
		}
	}
	return k.overflow(i)
}
