package tm

import (
	"fmt"
	"strconv"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Cake configures a port that shares each of its queues among hosts, and each host's part among its flows, with a
// short delay for each flow: CAKE's queue management. The shaper is the port's rate. Each queue of the port is one
// tin, besteffort, and queues are in strict priority. The limit is the port's, and the port's framing counts frames.
// Acknowledgements are not filtered, and there is no ingress mode.
type Cake struct {
	Isolation        string
	Flows            int        // number of lists, a multiple of ways
	Quantum          unit.Bytes // 0: follows from the rate
	Target, Interval unit.Time
	ECN              bool
}

// Values of Cake.Isolation: the units among which CAKE is fair (tc-cake).
const (
	isolateFlows   = "flows"          // 5-tuples
	isolateHosts   = "hosts"          // pairs of source and destination
	isolateSource  = "srchost"        // sources
	isolateDest    = "dsthost"        // destinations
	isolateBySrc   = "dual-srchost"   // sources, and the flows of each source
	isolateByDst   = "dual-dsthost"   // destinations, and the flows of each destination
	isolateBoth    = "triple-isolate" // sources and destinations, and flows: the host with more busy flows counts
	isolateNothing = "flowblind"
)

// Params binds the options of cake to the fields of c, which keep their values.
func (c *Cake) Params(p *scheme.Params) {
	p.Text(&c.Isolation, "isolation", isolateBySrc, "level at which the port is fair; a host is a user of `users`, or "+
		"any user in weir switch", "tc-cake; Weir: the default; tc-cake: triple-isolate").Words(isolateFlows, isolateHosts,
		isolateSource, isolateDest, isolateBySrc, isolateByDst, isolateBoth, isolateNothing)
	p.Int(&c.Flows, "flows", "1024", "number of queues for flows and of entries for hosts; a hash looks for one in "+
		"sets of 8", "CAKE §III; tc-cake: 1024").Min(strconv.Itoa(ways)).Max(strconv.Itoa(maxFlows))
	p.Size(&c.Quantum, "quantum", "0 B", "bytes that the flows of a host may send per round; 0 B: the bytes that the "+
		"port sends in 1/4096 s, but 300 to 1514 bytes", "tc-cake: sch_cake.c").Min("0 B").Max("1MB")
	p.Time(&c.Target, "target", "5ms", "target delay of a persistent queue; at least 1.5 frames", "tc-cake: rtt / 20").
		Above("0s").Max("10s")
	p.Time(&c.Interval, "interval", "100ms", "time for which the delay may exceed the target: the longest usual "+
		"round-trip time", "tc-cake: rtt").Above("0s").Max("100s")
	p.Bool(&c.ECN, "ecn", "true", "mark packets of senders that support ECN instead of dropping them; BLUE drops them "+
		"all the same", "tc-cake: always")
	p.AddRule("flows", func() error {
		if c.Flows%ways != 0 {
			return fmt.Errorf("%d is not a multiple of %d, the queues of a set", c.Flows, ways)
		}
		return nil
	})
	p.AddRule("target", func() error { return (&CoDel{Target: c.Target, Interval: c.Interval}).checkTarget() })
}

// Traits returns the target delay, by which the scheduler marks and drops. It is at least the time of one and a half
// frames.
func (c *Cake) Traits() Traits {
	return Traits{Marks: true, DropsEarly: true, TargetParam: "target", Target: c.Target, RaisesTarget: true}
}

// newCakeScheduler returns a CAKE scheduler. It shares each queue of the port among flows or hosts by c.Isolation, and
// applies COBALT to each list. rate is the port's, for COBALT's times and a derived quantum; it shapes no traffic.
// Queues are in strict priority, and a full port drops as under NewFQ.
func newCakeScheduler(c Cake, rate unit.LinkRate) Scheduler {
	return &fq{config: FQ{Flows: c.Flows}, cake: &c, rate: rate}
}

// cake is the state of a fair queue under CAKE. A list is in one of three rounds: flows.fresh has the sparse ones,
// flows.old the busy ones, and decaying the empty ones with COBALT state.
type cake struct {
	*flows
	config   *Cake
	port     *fq
	queues   []caked    // by list, from 1
	hosts    []cakeHost // by place, for sources and destinations alike
	decaying round
	cobaltTimes
	rate    unit.LinkRate // for which times and quantum are computed
	quantum int64
	now     unit.Time
	random  uint64  // state of the stream for BLUE
	resume  int32   // list of the last drop, whose next packet takes the turn; 0: no list
	sides   [2]bool // count busy flows of the source, of the destination
	byHost  [2]bool // hosts that define a flow; if neither, the 5-tuple does
	oneFlow bool    // all packets are one flow
}

// caked is CAKE's state of a list, in addition to flow.
type caked struct {
	cobalt
	prev int32    // list before it in its round
	host [2]int32 // places of its source and its destination
	tag  uint32   // hash of the list's flow
	part uint16   // of a byte, in 2⁻¹⁶, earned in addition to its credit
	set  rotation
}

// rotation is the position of a list.
type rotation uint8

const (
	gone     rotation = iota // in no round: free for any flow
	sparse                   // first, until its quantum is used
	waits                    // among the busy ones, but empty on arrival there: its host does not count it
	busy                     // among the busy ones, with packets: its host counts it
	decaying                 // empty, with COBALT state
)

// newCake returns the state of the queue f of a port with scheduler s, which must have a configuration of CAKE.
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
		k.oneFlow = true
	}
	k.fitRate()
	return k
}

// fitRate sets the values that depend on the port's rate: the times of the law and the quantum.
func (k *cake) fitRate() {
	k.rate = k.port.rate
	k.setTimes(k.config.Target, k.config.Interval, k.port.sendTime(largeFrame))
	if k.quantum = int64(k.config.Quantum); k.quantum == 0 {
		if k.quantum = largeFrame; k.rate.Bits > 0 {
			k.quantum = max(300, min(int64(k.rate.Bits)/8/4096, largeFrame))
		}
	}
}

// largeFrame is the size of Ethernet's largest frame, without its checksum.
const largeFrame = 1514

// hostLoad returns the divisor of list i's quantum: the number of its host's busy flows (CAKE §III; triple isolation:
// of its host with more). Sparse flows, as of acknowledgements, do not count (tc-cake: sch_cake.c; since Linux 5.1).
func (k *cake) hostLoad(i int32) int64 {
	n := int32(1)
	for side, on := range k.sides {
		if on {
			n = max(n, k.hosts[k.queues[i].host[side]].busy[side])
		}
	}
	return int64(n)
}

// earnQuantum adds list i's part of a quantum to its credit. The remainder of the division is kept for the next turn,
// so that flows of hosts with many flows get their exact share; tc-cake rounds at random.
func (k *cake) earnQuantum(i int32) {
	q := &k.queues[i]
	x := k.quantum<<16/k.hostLoad(i) + int64(q.part)
	k.lists[i].credit += int32(x >> 16)
	q.part = uint16(x)
}

// countBusy adds n to the busy flows of list i's hosts, on the sides that the isolation counts.
func (k *cake) countBusy(i, n int32) {
	for side, on := range k.sides {
		if on {
			k.hosts[k.queues[i].host[side]].busy[side] += n
		}
	}
}

// moveList moves list i from its round to the end of another: the round of set, or no round if set is gone. It stores
// set.
func (k *cake) moveList(i int32, set rotation) {
	q, l := &k.queues[i], &k.lists[i]
	if r := k.roundOf(q.set); r != nil {
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
	r := k.roundOf(set)
	q.prev = r.last
	k.appendTurn(r, i)
}

// roundOf returns the round with the lists of a rotation; nil for gone.
func (k *cake) roundOf(set rotation) *round {
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

// enqueuePacket appends p, with Enqueued set, to its list, which becomes sparse if it is in no round.
func (k *cake) enqueuePacket(p *packet.Packet) {
	k.now = max(k.now, p.Enqueued)
	i := k.findList(p)
	k.appendPacket(i, p)
	switch k.queues[i].set {
	case gone, decaying:
		k.moveList(i, sparse)
		k.lists[i].credit = int32(k.quantum / k.hostLoad(i))
	case waits:
		k.queues[i].set = busy
		k.countBusy(i, 1)
	}
}

// dequeuePacket removes the next packet in turn, as flows.popPacket does, and marks it if COBALT requires it. dropped
// means that COBALT drops the packet; the next call then continues with the same list. Otherwise each call begins with
// the first list that decays, then sparse lists precede busy ones. A negative now applies no law. Without packets p is
// nil.
func (k *cake) dequeuePacket(now unit.Time) (p *packet.Packet, dropped bool) {
	if k.rate != k.port.rate {
		k.fitRate()
	}
	judged := now >= 0
	if judged {
		k.now = max(k.now, now)
	}
	i := k.resume
	k.resume = 0
	for first := i == 0; k.flows.count > 0; i, first = 0, false {
		if i == 0 {
			i = k.chooseList(first)
		}
		l, q := &k.lists[i], &k.queues[i]
		switch {
		case l.credit <= 0:
			k.endTurn(i)
		case l.head == 0:
			k.retireList(i)
		default:
			p := k.removeNode(l, l.head)
			if judged {
				markable := k.config.ECN && p.TOS&packet.ECN != packet.NotECT
				mark, drop := q.judgePacket(&k.cobaltTimes, now, now-p.Enqueued, markable, k.drawRandom)
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

// chooseList returns the next list in turn, while there are packets. With decayingFirst a list that decays precedes the
// others; otherwise it follows them.
func (k *cake) chooseList(decayingFirst bool) int32 {
	switch {
	case decayingFirst && k.decaying.first != 0:
		return k.decaying.first
	case k.fresh.first != 0:
		return k.fresh.first
	case k.old.first != 0:
		return k.old.first
	}
	return k.decaying.first
}

// endTurn moves list i, which has no credit left, to the end of the busy ones, and adds its part of a quantum to its
// credit. A sparse list becomes a busy one.
func (k *cake) endTurn(i int32) {
	set := k.queues[i].set
	if set == sparse {
		if set = waits; k.lists[i].head != 0 {
			set = busy
			k.countBusy(i, 1)
		}
	}
	k.earnQuantum(i)
	k.moveList(i, set)
}

// retireList removes list i, which has become empty, from the rounds if its law is at rest, or else lets it decay.
func (k *cake) retireList(i int32) {
	q := &k.queues[i]
	q.noteEmpty(&k.cobaltTimes, k.now)
	if q.set == busy {
		k.countBusy(i, -1)
	}
	if q.isAtRest(k.now) {
		k.moveList(i, gone)
	} else {
		k.moveList(i, decaying)
	}
}

// drawRandom returns a number uniform in 0 … 2³² − 1: the upper half of SplitMix64.
func (k *cake) drawRandom() uint32 {
	k.random += 0x9e3779b97f4a7c15
	z := k.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32((z ^ z>>31) >> 32)
}

// dropHead removes the oldest packet of list i for lack of room. The list must not be empty.
func (k *cake) dropHead(i int32) *packet.Packet {
	k.queues[i].noteFull(&k.cobaltTimes, k.now)
	return k.removeNode(&k.lists[i], k.lists[i].head)
}

// yieldFor is flows.yieldFor under CAKE: a packet of the longest list gives way, with the arriving one counted. The
// result is the removed packet; nil: the arriving packet has no room.
func (k *cake) yieldFor(arrival *packet.Packet) *packet.Packet {
	k.now = max(k.now, arrival.Enqueued)
	own, i := k.findList(arrival), k.findLongest()
	if l := &k.lists[own]; i == 0 || l.bytes+int64(arrival.Size) >= k.lists[i].bytes {
		if i = own; l.head == 0 {
			k.queues[i].noteFull(&k.cobaltTimes, k.now)
			return nil
		}
	}
	return k.dropHead(i)
}
