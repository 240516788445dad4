package hpcc

import (
	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// The drafts know one path a flow: L and U are the flow's. Under flowlets, per-packet spraying or a change of
// routes the records of successive packets come from different ports, whose counters have nothing to do with each
// other. So L and U are kept for each path, told apart by what the records say of the hops. The flow's load is the
// largest of those paths that were seen within T: its packets go where the network sends them, so that it may send
// no faster than its share of the worst of these allows. On one path this is the draft's law, bit by bit. Of more
// than telemetry.MostPaths there are records of a sample, which telemetry.Unwrapper chooses; for a path that is new in
// it, the one that was not seen for the longest time makes room.

// paths is what a flow knows of its paths. The zero value knows none.
type paths[P any] struct {
	one  pathState[P]   // the first path: most flows have no other
	more []pathState[P] // the others
	last int            // where the latest records belong: 0: one, k: more[k-1]

	turns int // measurements, in mode PerHop
}

// pathState is L of one path, and what a law derives from it.
type pathState[P any] struct {
	track
	known P
	turn  int // paths.turns at the latest measurement
}

// at returns a path by its number.
func (x *paths[P]) at(k int) *pathState[P] {
	if k == 0 {
		return &x.one
	}
	return &x.more[k-1]
}

// now is the path of the latest records.
func (x *paths[P]) now() *pathState[P] { return x.at(x.last) }

// other returns the paths beside that of the latest records, by i in [0, len(more)).
func (x *paths[P]) other(i int) *pathState[P] {
	if i >= x.last {
		i++
	}
	return x.at(i)
}

// turn counts a measurement on the path in hand.
func (x *paths[P]) turn() {
	x.turns++
	x.now().turn = x.turns
}

// counts reports whether the registers of path y hold the window down, in mode PerHop: it was seen within T or, of a
// flow with few packets a T, until each of the others can have had two turns. Nothing else knows its links.
func (x *paths[P]) counts(y *pathState[P], now, t unit.Time) bool {
	return now-y.track.at <= t || x.turns-y.turn <= 2*(1+len(x.more))
}

// find returns the path of which records are, and makes room for it if they are its first: then it is not known.
func (x *paths[P]) find(p *cc.Telemetry) (k *pathState[P], known bool) {
	if k = x.now(); k.is(p) {
		return k, true
	}
	if k.n <= 0 && len(x.more) == 0 {
		return k, false
	}
	oldest := 0
	for k := range 1 + len(x.more) {
		y := x.at(k)
		if y.is(p) {
			x.last = k
			return y, true
		}
		if y.track.at < x.at(oldest).track.at {
			oldest = k
		}
	}
	if 1+len(x.more) < telemetry.MostPaths {
		x.more = append(x.more, pathState[P]{})
		oldest = len(x.more)
	}
	x.last = oldest
	y := x.at(oldest)
	*y = pathState[P]{}
	y.reset()
	return y, false
}

// has reports whether records are of a path of which there are others already.
func (x *paths[P]) has(p *cc.Telemetry) bool {
	for k := range 1 + len(x.more) {
		if x.at(k).is(p) {
			return true
		}
	}
	return false
}

// forget makes the next records of every path count as its first ones.
func (x *paths[P]) forget() {
	x.more, x.last = x.more[:0], 0
	x.one.reset()
}

// Loads without records (format: relative, PINT, telemetry upon congestion) carry no identity of a path. While packets
// arrive out of order, several paths are in use, and the largest load of the last 2/3 of T is U: older ones would
// shrink the window again for the same queue, and of a shorter time a slow path may be missing. A round trip is over
// when all that was sent before it is acknowledged, also on the slowest path (line 22). On one path, where packets
// arrive in order, each load is U as it arrives.

// orderlyPackets is the number of packets in order after which a flow counts as one on one path again.
const orderlyPackets = 1024

// arrivalOrder notes whether the packets of a flow take several paths. The zero value is a flow on one path.
type arrivalOrder struct {
	next int64        // of a sender: byte behind the newest packet that was answered
	many *recentLoads // of a flow that has been on several paths; nil: it has not
}

// recentLoads are the loads of a flow on several paths.
type recentLoads struct {
	isOver   bool       // the flow is on one path again
	inOrder  int        // packets in order since the latest one out of order
	largest  [8]float64 // loads of the current part of the time and of those before it, in turn
	part     int        // of largest, the current one
	partFrom unit.Time  // when it began
}

// isMany reports whether the flow is on several paths.
func (x *arrivalOrder) isMany() bool { return x.many != nil && !x.many.isOver }

// countAck notes the order of an acknowledgement's packet. A packet that was sent again proves no second path.
func (x *arrivalOrder) countAck(a *cc.Ack) {
	switch {
	case a.Packets == 0 || a.Seq == 0 || a.Delivery.Retransmitted:
	case a.Seq < x.next:
		x.count(true)
	default:
		x.next = a.Seq
		if a.Flight.Before > 2 { // else no packet could overtake it
			x.count(false)
		}
	}
}

// roundTripOver is line 22 on the slowest of several paths: all that was sent before the last update is acknowledged.
func (x *arrivalOrder) roundTripOver(a *cc.Ack, lastUpdateSeq int64) bool {
	return !x.isMany() || a.Una >= lastUpdateSeq
}

// count notes a packet, and whether one that was sent later had arrived before.
func (x *arrivalOrder) count(overtaken bool) {
	switch m := x.many; {
	case overtaken && m == nil:
		x.many = &recentLoads{}
	case overtaken:
		m.isOver, m.inOrder = false, 0
	case m != nil:
		m.inOrder++
		m.isOver = m.inOrder >= orderlyPackets
	}
}

// load returns the load of the flow after a packet with this one.
func (x *arrivalOrder) load(now, t unit.Time, load float64) float64 {
	if !x.isMany() {
		return load
	}
	return x.many.add(now, t, load)
}

// add notes a load and returns the largest of the last 2/3 of t.
func (x *recentLoads) add(now, t unit.Time, load float64) float64 {
	step := 2*t/unit.Time(3*(len(x.largest)-1)) + 1
	for n := 0; now-x.partFrom >= step; n++ {
		if n == len(x.largest) {
			x.partFrom = now
			break
		}
		if x.part++; x.part == len(x.largest) {
			x.part = 0
		}
		x.largest[x.part] = 0
		x.partFrom += step
	}
	x.largest[x.part] = max(x.largest[x.part], load)
	for _, v := range x.largest {
		load = max(load, v)
	}
	return load
}
