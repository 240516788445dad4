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
