package telemetry

import (
	"math/bits"

	"weir/core/unit"
)

// Wraparound is the time and the number of bytes after which a format's fields restart at 0; 0 means never.
type Wraparound struct {
	Time  unit.Time
	Bytes uint64
}

// Delta returns the time and the bytes between two records of one port. elapsed is the time between their arrivals by
// the reader's own clock. Of all times that the field may stand for, Delta takes the one nearest to elapsed. That
// distinguishes a gap of many wraps from a record that was overtaken, whose time and bytes are negative. It holds as
// long as the feedback's delay varies by less than half of Wraparound.Time. ok is false if the port could have sent
// Wraparound.Bytes or more in between: the number of bytes is then unknown.
func (s Wraparound) Delta(old, new *Hop, elapsed unit.Time) (dt unit.Time, bytes int64, ok bool) {
	dt = new.Time - old.Time
	// Within half a span of elapsed, dt is the nearest already, and no division is needed.
	if off := elapsed - dt; s.Time > 0 && (off >= s.Time/2 || off <= -s.Time/2) {
		if dt %= s.Time; dt < 0 {
			dt += s.Time
		}
		// The nearest to elapsed among dt + k·span.
		k := (elapsed - dt) / s.Time
		dt += k * s.Time
		switch rest := elapsed - dt; {
		case 2*rest > s.Time:
			dt += s.Time
		case 2*rest < -s.Time:
			dt -= s.Time
		}
	}
	if s.Bytes == 0 {
		return dt, int64(new.TxBytes - old.TxBytes), true
	}
	one := new.TxBytes - old.TxBytes
	switch {
	case s.Bytes&(s.Bytes-1) == 0 && dt >= 0:
		bytes = int64(one & (s.Bytes - 1))
	case s.Bytes&(s.Bytes-1) == 0:
		bytes = -int64(-one & (s.Bytes - 1))
	case dt >= 0:
		bytes = int64((new.TxBytes%s.Bytes + s.Bytes - old.TxBytes%s.Bytes) % s.Bytes)
	default:
		bytes = -int64((old.TxBytes%s.Bytes + s.Bytes - new.TxBytes%s.Bytes) % s.Bytes)
	}
	// What the rate carries in dt is less than Bytes: compared by products, not quotients.
	hi, lo := bits.Mul64(uint64(max(new.Rate, old.Rate)), uint64(max(dt, -dt)))
	limitHi, limitLo := bits.Mul64(s.Bytes, 8*uint64(unit.Second))
	return dt, bytes, hi < limitHi || hi == limitHi && lo < limitLo
}

// MaxPaths is the number of paths of a flow that an Unwrapper follows: the paths between two hosts of a fat tree of k
// = 16.
const MaxPaths = 64

// Unwrapper makes the records of one flow continuous in a format that wraps. On each path, times and bytes then only
// grow from the values of its first record on. Of a flow with more than MaxPaths paths it follows a sample, the same
// for all readers of the flow's records.
//
// Records of two passes can be compared only if their path is not forgotten in between. So a new path does not replace
// a followed one at once. It does so only once it was seen twice since the followed path was seen. With any number and
// order of paths, the followed ones are seen several times, and paths that are no longer used make room.
type Unwrapper struct {
	Span  Wraparound
	first latest   // the first path: most flows have no other
	more  []latest // the other paths
	path  int      // path of the latest followed records: 0: one, k: more[k-1]
	rival *rival   // nil: there was room for all paths so far
}

// latest is the state of the latest record of a path. at is its arrival by the reader's clock.
type latest struct {
	hops    [MaxHops]mark
	n       uint8
	missed  uint8
	path    uint16
	arrival unit.Time
}

// mark is the part of a hop's record that the next one is compared with: its fields as received, and their continuous
// values. Differences are taken between fields as received. So only records between which a field wraps need
// divisions, not all records after the first wrap.
type mark struct {
	received, time       unit.Time // as received, and continuous
	receivedBytes, bytes uint64    // likewise
	rate                 unit.Rate
	id                   uint32
	port                 uint16
}

// isSamePath reports whether r is of the same path: its identity and, where the format has them, switches and ports
// agree.
func (l *latest) isSamePath(r *Records) bool {
	return r.n == l.n && r.path == l.path && r.missed == l.missed &&
		(r.hops[0].Flags&NoSwitch != 0 || l.hasSamePorts(r))
}

// hasSamePorts reports whether r has the same switches and ports.
func (l *latest) hasSamePorts(r *Records) bool {
	for i := range r.hops[:r.n] {
		if h, old := &r.hops[i], &l.hops[i]; h.Switch != old.id || h.Port != old.port {
			return false
		}
	}
	return true
}

// rival is a path that is not followed and competes for the place of one that is. The rival is replaced after 1, 2, 4,
// … other paths (as in Brent's search for cycles), until it is a path that returns.
type rival struct {
	latest
	others, limit int
}

// takesPlace reports whether the path of r, which is not followed, gets the place of the path last seen at oldest. It
// updates the rival.
func (x *rival) takesPlace(now unit.Time, r *Records, oldest unit.Time) bool {
	if x.n > 0 && x.isSamePath(r) {
		won := oldest < x.arrival
		if x.arrival, x.others = now, 0; won {
			x.n, x.limit = 0, 0
		}
		return won
	}
	if x.others++; x.others > x.limit {
		x.setFirst(now, r)
		x.others, x.limit = 0, 2*x.limit+1
	}
	return false
}

// Unwrap rewrites r, which arrived at now, to continuous values. It returns false if their path is not followed: the
// records are then of no use. Hops get the flag Restart in the first record of a path, and where Delta cannot
// determine the bytes. A record that another has overtaken keeps its earlier times.
func (u *Unwrapper) Unwrap(now unit.Time, r *Records) bool {
	if r.n == 0 {
		return true
	}
	last := &u.first
	if u.path > 0 {
		last = &u.more[u.path-1]
	}
	if !last.isSamePath(r) {
		if last = u.findPath(now, r); last == nil {
			return false
		}
		if !last.isSamePath(r) {
			for i := range r.Hops() {
				r.hops[i].Flags |= Restart
			}
			last.setFirst(now, r)
			return true
		}
	}
	hops, known, elapsed, near := r.hops[:r.n], last.hops[:r.n], now-last.arrival, u.Span.prepareNear()
	last.arrival = now
	for i := range hops {
		h, old := &hops[i], &known[i]
		if h.Rate != old.rate {
			h.Flags |= Restart
			old.setFirst(h)
			continue
		}
		dt, bytes := h.Time-old.received, (h.TxBytes-old.receivedBytes)&near.mask
		if !near.applies(dt, elapsed-dt, h.Rate) {
			var ok bool
			if dt, bytes, ok = u.Span.deltaSince(old, h, elapsed); !ok {
				h.Flags |= Restart
				old.setFirst(h)
				continue
			}
		}
		old.received, old.receivedBytes = h.Time, h.TxBytes
		old.time += dt
		old.bytes += bytes
		h.Time, h.TxBytes = old.time, old.bytes
	}
	return true
}

// nearDelta is a Wraparound prepared for the fast path: records between which no field has wrapped or only the bytes,
// by a mask. Nearly all records take it.
type nearDelta struct {
	half       unit.Time // of Wraparound.Time
	mask       uint64
	maxProduct uint64 // upper word of the product of rate and time from which the bytes may be unknown
}

// prepareNear returns the prepared form of s. A span of 0 bytes has a mask of all ones and no limit; one that is no
// power of two never takes the fast path.
func (s Wraparound) prepareNear() nearDelta {
	x := nearDelta{half: s.Time / 2, mask: s.Bytes - 1, maxProduct: ^uint64(0)}
	if s.Time == 0 {
		x.half = unit.Never
	}
	if s.Bytes > 0 {
		if x.maxProduct, _ = bits.Mul64(s.Bytes, 8*uint64(unit.Second)); s.Bytes&(s.Bytes-1) != 0 {
			x.maxProduct = 0
		}
	}
	return x
}

// applies reports whether Delta would return dt as the time, and bytes that are known and not negative. off is the
// elapsed time minus dt.
func (x *nearDelta) applies(dt, off unit.Time, r unit.Rate) bool {
	hi, _ := bits.Mul64(uint64(r), uint64(dt))
	return dt >= 0 && off < x.half && off > -x.half && hi < x.maxProduct
}

// deltaSince is Delta between a mark and a hop of the same rate.
func (s Wraparound) deltaSince(old *mark, h *Hop, elapsed unit.Time) (dt unit.Time, bytes uint64, ok bool) {
	dt, moved, ok := s.Delta(&Hop{Time: old.received, TxBytes: old.receivedBytes, Rate: old.rate}, h, elapsed)
	return dt, uint64(moved), ok
}

// setFirst stores r as the latest records, without comparing it with earlier ones.
func (l *latest) setFirst(now unit.Time, r *Records) {
	for i := range r.hops[:r.n] {
		l.hops[i].setFirst(&r.hops[i])
	}
	l.n, l.path, l.missed, l.arrival = r.n, r.path, r.missed, now
}

// setFirst stores h as the latest record of the hop.
func (m *mark) setFirst(h *Hop) {
	*m = mark{received: h.Time, time: h.Time, receivedBytes: h.TxBytes, bytes: h.TxBytes,
		rate: h.Rate, id: h.Switch, port: h.Port}
}

// findPath returns the latest record of the path of r, which differs from the previous record's path, and makes it the
// current one. For a new path it returns the place for it, or nil if the path is not followed.
func (u *Unwrapper) findPath(now unit.Time, r *Records) *latest {
	if u.first.n == 0 {
		return &u.first
	}
	oldest, at := 0, u.first.arrival
	if u.first.isSamePath(r) {
		u.path = 0
		return &u.first
	}
	for k := range u.more {
		l := &u.more[k]
		if l.isSamePath(r) {
			u.path = k + 1
			return l
		}
		if l.arrival < at {
			oldest, at = k+1, l.arrival
		}
	}
	switch {
	case 1+len(u.more) < MaxPaths:
		u.more = append(u.more, latest{})
		oldest = len(u.more)
	case u.rival == nil:
		u.rival = &rival{}
		fallthrough
	default:
		if !u.rival.takesPlace(now, r, at) {
			return nil
		}
	}
	if u.path = oldest; oldest == 0 {
		return &u.first
	}
	return &u.more[oldest-1]
}
