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

// Delta returns the time and the bytes between two records of one port. elapsed is the time between their
// arrivals by the reader's own clock. Of all times that the field may stand for, Delta takes the one
// nearest to elapsed. That distinguishes a gap of many wraps from a record that was overtaken (whose time
// and bytes are negative), as long as the feedback's delay varies by less than half of Wraparound.Time. ok is
// false if the port could have sent Wraparound.Bytes or more in between: the number of bytes is then unknown.
func (s Wraparound) Delta(old, new *Hop, elapsed unit.Time) (dt unit.Time, bytes int64, ok bool) {
	dt = new.Time - old.Time
	// Within half a span of elapsed dt is the nearest already, and nothing has to be divided.
	if off := elapsed - dt; s.Time > 0 && (off >= s.Time/2 || off <= -s.Time/2) {
		if dt %= s.Time; dt < 0 {
			dt += s.Time
		}
		// The nearest to elapsed of dt + k·span.
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

// MostPaths is how many paths of a flow are followed: as many as join two hosts of a fat tree of k = 16.
const MostPaths = 64

// Unwrapper makes the records of one flow continuous that come in a format that wraps: on each path times and
// bytes that only grow, from those of its first record on. Of a flow with more than MostPaths paths it follows a
// sample, and chooses it for all who read the flow's records. Records of two passes can be compared, which those of
// a path that is forgotten between them cannot; so a path is not forgotten for each that is new, but only for
// one that was seen twice since it was seen itself. However many paths there are, and in whatever order they
// come, those that are followed are seen several times, and those that are gone make room.
type Unwrapper struct {
	Span  Wraparound
	one   latest   // of the first path: most flows have no other
	more  []latest // of the others
	path  int      // of the latest records that are followed: 0: one, k: more[k-1]
	rival *rival   // nil: there was room for all so far
}

// latest is what is known of the latest record of a path, which came at at by the reader's clock.
type latest struct {
	hops   [MaxHops]mark
	n      uint8
	missed uint8
	path   uint16
	at     unit.Time
}

// mark is what of a hop's record the next one is compared with: its fields as they came, and what they were made
// continuous to. Differences are taken of fields as they came, so that only those that wrap between two records cost
// divisions, not all that come after the first wrap.
type mark struct {
	at, time    unit.Time // as it came, and continuous
	sent, bytes uint64    // likewise
	rate        unit.Rate
	id          uint32
	port        uint16
}

// is reports whether r is of the same path: its identity and, where the format has them, switches and ports.
func (l *latest) is(r *Records) bool {
	return r.n == l.n && r.path == l.path && r.missed == l.missed &&
		(r.hops[0].Flags&NoSwitch != 0 || l.ports(r))
}

// ports reports whether r is of the same switches and ports.
func (l *latest) ports(r *Records) bool {
	for i := range r.hops[:r.n] {
		if h, old := &r.hops[i], &l.hops[i]; h.Switch != old.id || h.Port != old.port {
			return false
		}
	}
	return true
}

// rival is a path that is not followed, and asks for the place of one that is. Which path it is changes after 1, 2,
// 4, … other ones (as in Brent's search for cycles), until it is one that comes again.
type rival struct {
	latest
	others, most int
}

// wins reports whether r, of a path that is not followed, is to have the place of the path last seen at oldest.
func (x *rival) wins(now unit.Time, r *Records, oldest unit.Time) bool {
	if x.n > 0 && x.is(r) {
		won := oldest < x.at
		if x.at, x.others = now, 0; won {
			x.n, x.most = 0, 0
		}
		return won
	}
	if x.others++; x.others > x.most {
		x.begin(now, r)
		x.others, x.most = 0, 2*x.most+1
	}
	return false
}

// Unwrap rewrites r, which arrived at now, and reports whether it follows their path: others are of no use. Hops
// get the flag Restart in the first record of a path, and where Delta cannot determine the bytes. A record that
// another has overtaken keeps its earlier times.
func (u *Unwrapper) Unwrap(now unit.Time, r *Records) bool {
	if r.n == 0 {
		return true
	}
	last := &u.one
	if u.path > 0 {
		last = &u.more[u.path-1]
	}
	if !last.is(r) {
		if last = u.find(now, r); last == nil {
			return false
		}
		if !last.is(r) {
			for i := range r.Hops() {
				r.hops[i].Flags |= Restart
			}
			last.begin(now, r)
			return true
		}
	}
	hops, known, elapsed, near := r.hops[:r.n], last.hops[:r.n], now-last.at, u.Span.near()
	last.at = now
	for i := range hops {
		h, old := &hops[i], &known[i]
		if h.Rate != old.rate {
			h.Flags |= Restart
			old.begin(h)
			continue
		}
		dt, bytes := h.Time-old.at, (h.TxBytes-old.sent)&near.mask
		if !near.holds(dt, elapsed-dt, h.Rate) {
			var ok bool
			if dt, bytes, ok = u.Span.apart(old, h, elapsed); !ok {
				h.Flags |= Restart
				old.begin(h)
				continue
			}
		}
		old.at, old.sent = h.Time, h.TxBytes
		old.time += dt
		old.bytes += bytes
		h.Time, h.TxBytes = old.time, old.bytes
	}
	return true
}

// near is a Wraparound prepared for records between which no field has wrapped but, by a mask, the bytes: nearly all
// records. Delta takes 52 instructions a hop, this 25.
type near struct {
	half unit.Time // of Wraparound.Time
	mask uint64
	most uint64 // upper word of the product of rate and time from which the bytes may be unknown
}

func (s Wraparound) near() near {
	x := near{half: s.Time / 2, mask: s.Bytes - 1, most: ^uint64(0)}
	if s.Time == 0 {
		x.half = unit.Never
	}
	if s.Bytes > 0 {
		if x.most, _ = bits.Mul64(s.Bytes, 8*uint64(unit.Second)); s.Bytes&(s.Bytes-1) != 0 {
			x.most = 0
		}
	}
	return x
}

// holds reports whether Delta's time is dt, off from what has elapsed, and its bytes are known and not negative.
func (x *near) holds(dt, off unit.Time, r unit.Rate) bool {
	hi, _ := bits.Mul64(uint64(r), uint64(dt))
	return dt >= 0 && off < x.half && off > -x.half && hi < x.most
}

// apart is Delta between a mark and a hop of the same rate.
func (s Wraparound) apart(old *mark, h *Hop, elapsed unit.Time) (dt unit.Time, bytes uint64, ok bool) {
	dt, moved, ok := s.Delta(&Hop{Time: old.at, TxBytes: old.sent, Rate: old.rate}, h, elapsed)
	return dt, uint64(moved), ok
}

// begin makes r the latest records, with which nothing is compared.
func (l *latest) begin(now unit.Time, r *Records) {
	for i := range r.hops[:r.n] {
		l.hops[i].begin(&r.hops[i])
	}
	l.n, l.path, l.missed, l.at = r.n, r.path, r.missed, now
}

// begin makes h the latest record of the hop.
func (m *mark) begin(h *Hop) {
	*m = mark{at: h.Time, time: h.Time, sent: h.TxBytes, bytes: h.TxBytes, rate: h.Rate, id: h.Switch, port: h.Port}
}

// find returns the latest record of the path of r, which is not that of the record before; if there is none, the
// place for it; nil: it is not followed.
func (u *Unwrapper) find(now unit.Time, r *Records) *latest {
	if u.one.n == 0 {
		return &u.one
	}
	oldest, at := 0, u.one.at
	if u.one.is(r) {
		u.path = 0
		return &u.one
	}
	for k := range u.more {
		l := &u.more[k]
		if l.is(r) {
			u.path = k + 1
			return l
		}
		if l.at < at {
			oldest, at = k+1, l.at
		}
	}
	switch {
	case 1+len(u.more) < MostPaths:
		u.more = append(u.more, latest{})
		oldest = len(u.more)
	case u.rival == nil:
		u.rival = &rival{}
		fallthrough
	default:
		if !u.rival.wins(now, r, at) {
			return nil
		}
	}
	if u.path = oldest; oldest == 0 {
		return &u.one
	}
	return &u.more[oldest-1]
}
