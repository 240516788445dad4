package hpcc

import (
	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// The drafts know one path per flow: L and U are the flow's. Under flowlets, per-packet spraying or a change of routes,
// successive packets bring records of different ports with unrelated counters. So L and U are kept for each path, and
// the records' hops identify the path. The flow's load is the largest of the paths seen within T: the network spreads
// its packets, so it may send no faster than its share of the worst path allows. On one path this is the draft's law,
// bit by bit.
//
// With more than telemetry.MaxPaths paths there are records of a sample, which telemetry.Unwrapper chooses. A path
// that is new in it replaces the one unseen for the longest time.

// paths is a flow's state of its paths. The zero value has none.
type paths[P any] struct {
	one  pathState[P]   // the first path: often the only one
	more []pathState[P] // the others
	last int            // index of the latest records' path: 0: one, k: more[k-1]

	turns int // measurements, in mode PerHop
}

// pathState is L of one path, with the state that a law derives from it.
type pathState[P any] struct {
	track
	known P
	turn  int // paths.turns at the latest measurement
}

// pathAt returns path k, 0 to len(more). The pointer is valid until find adds a path.
func (x *paths[P]) pathAt(k int) *pathState[P] {
	if k == 0 {
		return &x.one
	}
	return &x.more[k-1]
}

// current returns the path of the latest records.
func (x *paths[P]) current() *pathState[P] { return x.pathAt(x.last) }

// otherPath returns the i-th of the other paths than the latest records', for i in [0, len(more)).
func (x *paths[P]) otherPath(i int) *pathState[P] {
	if i >= x.last {
		i++
	}
	return x.pathAt(i)
}

// countTurn counts a measurement on the current path.
func (x *paths[P]) countTurn() {
	x.turns++
	x.current().turn = x.turns
}

// holdsWindow reports whether the registers of path y still limit the window, in mode PerHop. They do if y was seen
// within T or, for a flow with few packets in T, until each of the other paths can have had two turns: no other path
// measures y's links.
func (x *paths[P]) holdsWindow(y *pathState[P], now, t unit.Time) bool {
	return now-y.track.arrival <= t || x.turns-y.turn <= 2*(1+len(x.more))
}

// find returns the path of the records, and adds it if they are its first: known is false then. With telemetry.MaxPaths
// paths, a new one replaces the one unseen for the longest time. The result is the current path from then on.
func (x *paths[P]) find(p *cc.Telemetry) (k *pathState[P], known bool) {
	if k = x.current(); k.matches(p) {
		return k, true
	}
	if k.n <= 0 && len(x.more) == 0 {
		return k, false
	}
	oldest := 0
	for k := range 1 + len(x.more) {
		y := x.pathAt(k)
		if y.matches(p) {
			x.last = k
			return y, true
		}
		if y.track.arrival < x.pathAt(oldest).track.arrival {
			oldest = k
		}
	}
	if 1+len(x.more) < telemetry.MaxPaths {
		x.more = append(x.more, pathState[P]{})
		oldest = len(x.more)
	}
	x.last = oldest
	y := x.pathAt(oldest)
	*y = pathState[P]{}
	y.reset()
	return y, false
}

// contains reports whether records are of a stored path.
func (x *paths[P]) contains(p *cc.Telemetry) bool {
	for k := range 1 + len(x.more) {
		if x.pathAt(k).matches(p) {
			return true
		}
	}
	return false
}

// reset makes the next records of each path count as its first ones.
func (x *paths[P]) reset() {
	x.more, x.last = x.more[:0], 0
	x.one.reset()
}

// Loads without records (format: relative, PINT, telemetry upon congestion) do not identify a path. While packets
// arrive out of order, several paths are in use, and U is the largest load of the last 2/3 of T: older ones would
// shrink the window again for the same queue, and a shorter time may miss a slow path. A round trip ends when all data
// sent before it is acknowledged, also on the slowest path (line 22). On one path, with packets in order, each load is
// U when it arrives.

// orderlyPackets is the number of packets in order after which a flow counts as being on one path again.
const orderlyPackets = 1024

// arrivalOrder tracks whether the packets of a flow take several paths. The zero value is a flow on one path.
type arrivalOrder struct {
	next int64        // at a sender: first byte after the newest acknowledged packet
	many *recentLoads // loads of a flow that has been on several paths, otherwise nil
}

// recentLoads are the recent loads of a flow on several paths.
type recentLoads struct {
	isOver   bool       // the flow is on one path again
	inOrder  int        // packets in order since the latest one out of order
	largest  [8]float64 // largest loads of the current and earlier parts of the time, in turn
	part     int        // index of the current part in largest
	partFrom unit.Time  // start of the current part
}

// isMany reports whether the flow is on several paths.
func (x *arrivalOrder) isMany() bool { return x.many != nil && !x.many.isOver }

// countAck records the order of an acknowledgement's packet. A retransmitted packet does not prove a second path, and
// has no effect.
func (x *arrivalOrder) countAck(a *cc.Ack) {
	switch {
	case a.Packets == 0 || a.Seq == 0 || a.Delivery.Retransmitted:
	case a.Seq < x.next:
		x.countPacket(true)
	default:
		x.next = a.Seq
		if a.Flight.Before > 2 { // otherwise no packet could overtake it
			x.countPacket(false)
		}
	}
}

// isRoundTripOver is line 22 on the slowest of several paths: all data sent before the last update is acknowledged.
func (x *arrivalOrder) isRoundTripOver(a *cc.Ack, lastUpdateSeq int64) bool {
	return !x.isMany() || a.FirstUnacked >= lastUpdateSeq
}

// countPacket records a packet; overtaken: one sent later had arrived before it. An overtaken one puts the flow on
// several paths, until orderlyPackets in order have followed.
func (x *arrivalOrder) countPacket(overtaken bool) {
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

// loadAfter returns the load of the flow after a packet with this load: the load itself or, on several paths, the
// largest of the last 2/3 of t, which it records.
func (x *arrivalOrder) loadAfter(now, t unit.Time, load float64) float64 {
	if !x.isMany() {
		return load
	}
	return x.many.add(now, t, load)
}

// add records a load and returns the largest of the last 2/3 of t.
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
