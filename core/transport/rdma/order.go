package rdma

import "weir/core/unit"

// Reordering. IRN takes a packet for lost as soon as one with a higher number has come (§3.1), which holds on one
// path only: under spraying nearly every packet overtakes another. With a reordering window a packet is lost
// if one that was sent later has come, and a round trip and the window have passed since it was sent (RACK,
// RFC 8985 §6.2). What RFC 8985 leaves to DSACK the sender finds out by itself, for every packet that comes
// is answered about itself: a packet was sent again in vain if it is acknowledged sooner than a round trip after
// that (Eifel, RFC 3522, with the least round-trip time in place of a time stamp), or if it is acknowledged twice.

// Values of Config.Reordering.
const (
	ReorderNone     = "none"     // a packet is lost when a later one has come
	ReorderFixed    = "fixed"    // within Config.ReorderWindow
	ReorderAdaptive = "adaptive" // within a window that grows when it was too small
)

// persistence is for how many recoveries a window that has grown stays (RFC 8985 §6.2, step 4).
const persistence = 16

// transmission is one sending of a packet.
type transmission struct {
	n  int64
	at unit.Time
}

// order is what was sent, in the order of time, as far as nothing is known of it.
type order struct {
	ring       []transmission // the i-th at i mod its length, a power of two
	head, tail int64
	newest     unit.Time // of the transmissions delivered, when the latest was sent: RACK.xmit_ts
	rtt        unit.Time // how long that took: RACK.rtt
	due        unit.Time // when the oldest is to be taken for lost; Never: not before a later one has come
}

func newOrder() order { return order{ring: make([]transmission, 16), newest: -1, due: unit.Never} }

// at returns the i-th transmission.
func (o *order) at(i int64) *transmission { return &o.ring[i&int64(len(o.ring)-1)] }

// sent notes a transmission.
func (o *order) sent(n int64, at unit.Time) {
	if o.tail-o.head == int64(len(o.ring)) {
		ring := make([]transmission, 2*len(o.ring))
		for i := o.head; i < o.tail; i++ {
			ring[i&int64(len(ring)-1)] = o.ring[i&int64(len(o.ring)-1)]
		}
		o.ring = ring
	}
	o.ring[o.tail&int64(len(o.ring)-1)] = transmission{n, at}
	o.tail++
}

// delivered notes that what was sent at at has come.
func (o *order) delivered(now, at unit.Time) {
	if at >= o.newest {
		o.newest, o.rtt = at, now-at
	}
}

// tolerance is how much reordering a sender expects.
type tolerance struct {
	steps     int       // RACK.reo_wnd_mult
	recovered int       // recoveries until steps is 1 again: RACK.reo_wnd_persist
	raisedAt  unit.Time // when steps was last raised
	vain      int64     // packets that were sent again in vain
}

// window is RACK.reo_wnd: a quarter of the least round-trip time or what is configured, times steps, at most a
// smoothed round trip.
func (s *Sender) window() unit.Time {
	w := s.config.ReorderWindow
	switch s.config.Reordering {
	case ReorderFixed:
		return w
	case ReorderNone: // in order on each of several paths
		return 0
	}
	if w == 0 {
		w = s.leastRTT() / 4
	}
	return min(unit.Time(s.tolerance.steps)*w, max(s.rtt(), w))
}

// leastRTT is the least round-trip time that there is.
func (s *Sender) leastRTT() unit.Time {
	if s.roundTrip.Min > 0 {
		return s.roundTrip.Min
	}
	return s.config.BaseRTT
}

// shortestRTT is the least round-trip time that the path can have: a flow that starts behind others measures more.
func (s *Sender) shortestRTT() unit.Time {
	if base := s.config.BaseRTT; base > 0 && base < s.roundTrip.Min {
		return base
	}
	return s.leastRTT()
}

// early reports whether an acknowledgement of x, sent again, must be of an earlier transmission.
func (s *Sender) early(now unit.Time, x *sent) bool {
	return x.flags&everSent != 0 && now-x.at < s.shortestRTT()
}

// heard takes it that the receiver has answered packet n, and raises the window if it was sent again in vain, once
// for what was sent within a round trip. The ring still has many of those that are acknowledged. Of several paths,
// only answers that come back by a path tell of the order on it: others may tell of a packet there before the answers
// to those before it have come.
func (s *Sender) heard(now unit.Time, n int64) {
	twice := s.waits.answered(n)
	if n < 0 || n >= s.top || s.top-n > int64(len(s.ring)) {
		if twice {
			s.waits.raise(s.shortestRTT(), s.loss.Limit)
			s.waits.arrived(n)
		}
		return
	}
	x := s.at(n)
	if s.paths != nil && int(x.path) == s.paths.now && !s.early(now, x) {
		s.orders[x.path].delivered(now, x.at)
	}
	if s.early(now, x) || x.flags&(everSent|answered) == everSent|answered {
		t := &s.tolerance
		t.vain++
		if x.at >= t.raisedAt {
			t.steps, t.recovered, t.raisedAt = min(t.steps+1, 1<<16), persistence, now
			if s.waits != nil {
				s.waits.raise(s.shortestRTT(), s.loss.Limit)
			}
		}
		if s.waits != nil {
			s.waits.arrived(n)
		}
	}
	if s.waits != nil && x.flags&(everSent|answered) == 0 {
		s.measureLateness(now, x)
	}
	x.flags |= answered
}

// follow notes that packet x, which is not known to be there yet, is.
func (s *Sender) follow(now unit.Time, x *sent) {
	early := s.early(now, x)
	switch {
	case s.paths == nil && !early:
		s.orders[0].delivered(now, x.at)
	case s.paths != nil && !early:
		s.paths.alive(now, int(x.path))
	}
	if s.paths != nil && x.flags&gone == 0 {
		s.paths.each[x.path].out--
	}
}

// overdue takes for lost what was sent before something that has come on the same path, a round trip and the window
// ago, and returns how many packets these are. What a timeout took for lost is sent again then.
func (s *Sender) overdue(now unit.Time) (lost int) {
	if s.waits != nil {
		return s.overdueWaiting(now)
	}
	for k := range s.orders {
		lost += s.overdueOn(now, k)
	}
	return lost
}

// overdueOn is overdue on path k.
func (s *Sender) overdueOn(now unit.Time, k int) (lost int) {
	o := &s.orders[k]
	for o.due = unit.Never; o.head < o.tail; o.head++ {
		e := &o.ring[o.head&int64(len(o.ring)-1)]
		if e.n < s.una {
			continue
		}
		x := s.at(e.n)
		if x.at != e.at || int(x.path) != k || x.flags&sacked != 0 { // it was sent again, or is there
			continue
		}
		if e.at >= o.newest {
			break
		}
		if at := e.at + o.rtt + s.window(); at > now {
			o.due = at
			break
		}
		x.flags &^= resent
		lost += s.judge(e.n)
		s.eligible = max(s.eligible, e.n+1)
	}
	return lost
}
