package rdma

import (
	"weir/core/transport"
	"weir/core/unit"
)

// Reordering. IRN declares a packet lost as soon as one with a higher number has arrived (§3.1), which holds on one
// path only: under spraying nearly every packet overtakes another. With a reordering window a packet is lost if one
// that was sent later has arrived, and a round trip and the window have passed since it was sent (RACK, RFC 8985 §6.2).
// RFC 8985 leaves unnecessary retransmissions to DSACK. Here the sender finds them itself, because the receiver answers
// every packet. A packet was resent unnecessarily if it is acknowledged sooner than a round trip after that (Eifel, RFC
// 3522, with the minimum round-trip time in place of a time stamp), or if it is acknowledged twice.

// Values of Config.Reordering.
const (
	reorderNone     = "none"     // a packet is lost when a later one has arrived
	reorderFixed    = "fixed"    // within Config.ReorderWindow
	reorderAdaptive = "adaptive" // within a window that grows when it was too small
)

// persistence is the number of recoveries after which a window that has grown becomes small (RFC 8985 §6.2, step 4).
const persistence = 16

// reordering is the sender's state of the order on its paths.
type reordering struct {
	orders    []order // one for each path, with selective repeat and a reordering window; else nil
	tolerance tolerance
	waits     *waits // on paths of different rates, with reordering: adaptive; else nil
}

// order is the list of transmissions on a path that have no answer yet, with the state of RACK.
type order struct {
	transport.Flights
	newest unit.Time // when the latest of the delivered transmissions was sent: RACK.xmit_ts
	rtt    unit.Time // round-trip time of that transmission: RACK.rtt
	due    unit.Time // when the oldest is to be declared lost; Never: not before a later one has arrived
}

func newOrder() order { return order{newest: -1, due: unit.Never} }

// recordDelivered records that a transmission sent at the time sent has arrived, unless a later one has arrived before.
func (o *order) recordDelivered(now, sent unit.Time) {
	if sent >= o.newest {
		o.newest, o.rtt = sent, now-sent
	}
}

// tolerance is the amount of reordering that a sender expects.
type tolerance struct {
	steps     int       // RACK.reo_wnd_mult
	recovered int       // recoveries until steps is 1 again: RACK.reo_wnd_persist
	raisedAt  unit.Time // when steps was last raised
	vain      int64     // packets that were resent unnecessarily
}

// reorderWindow returns how long a packet may be late. Adaptive (RACK.reo_wnd): a quarter of the minimum round-trip
// time or the configured window, times steps, at most a smoothed round trip. Fixed: the configured window. Without
// reordering it is 0.
func (r *recovery) reorderWindow() unit.Time {
	w := r.config.ReorderWindow
	switch r.config.Reordering {
	case reorderFixed:
		return w
	case reorderNone: // in order on each of several paths
		return 0
	}
	if w == 0 {
		w = r.timer.MinRTT() / 4
	}
	return min(unit.Time(r.tolerance.steps)*w, max(r.timer.RTT(), w))
}

// shortestRTT returns the minimum round-trip time that the path can have: a flow that starts behind others measures
// more.
func (r *recovery) shortestRTT() unit.Time {
	if base := r.config.BaseRTT; base > 0 && base < r.timer.Trip.Min {
		return base
	}
	return r.timer.MinRTT()
}

// isEarly reports whether an acknowledgement of x, which was resent, must be of an earlier transmission.
func (r *recovery) isEarly(now unit.Time, x *sent) bool {
	return x.flags&everSent != 0 && now-x.sentAt < r.shortestRTT()
}

// recordAnswer records that the receiver has answered packet n of bytes bytes. It raises the window if n was resent
// unnecessarily, once for packets sent within a round trip. The ring still has many of the acknowledged packets. With
// several paths, only answers that return on a path prove the order on it: an answer on another path may arrive before
// the answers to earlier packets.
func (r *recovery) recordAnswer(now unit.Time, n, bytes int64) {
	twice := r.waits.recordAnswered(n)
	if n < 0 || n >= r.top || r.top-n > int64(r.ring.Len()) {
		if twice {
			r.waits.raisePatience(r.shortestRTT(), r.loss.Limit)
			r.waits.removeCopy(n)
		}
		return
	}
	x := r.packetState(n)
	if r.paths != nil && int(x.path) == r.paths.selected && !r.isEarly(now, x) {
		r.orders[x.path].recordDelivered(now, x.sentAt)
	}
	if r.isEarly(now, x) || x.flags&(everSent|answered) == everSent|answered {
		t := &r.tolerance
		t.vain++
		if x.sentAt >= t.raisedAt {
			t.steps, t.recovered, t.raisedAt = min(t.steps+1, 1<<16), persistence, now
			if r.waits != nil {
				r.waits.raisePatience(r.shortestRTT(), r.loss.Limit)
			}
		}
		if r.waits != nil {
			r.waits.removeCopy(n)
		}
	}
	if r.waits != nil && x.flags&(everSent|answered) == 0 {
		r.measureLateness(now, x, bytes)
	}
	x.flags |= answered
}

// trackArrival records the arrival of packet x, which was not known to have arrived, in the order of its path.
func (r *recovery) trackArrival(now unit.Time, x *sent) {
	early := r.isEarly(now, x)
	switch {
	case r.paths == nil && !early:
		r.orders[0].recordDelivered(now, x.sentAt)
	case r.paths != nil && !early:
		r.paths.recordAnswer(now, int(x.path))
	}
	if r.paths != nil && x.flags&gone == 0 {
		r.paths.each[x.path].out--
	}
}

// findOverdue declares packets lost that were sent before one that has arrived on the same path, if a round trip and
// the window have passed, and returns their number. Packets that a timeout declared lost are resent then.
func (r *recovery) findOverdue(now unit.Time) (lost int) {
	if r.waits != nil {
		return r.findOverdueWaiting(now)
	}
	for k := range r.orders {
		lost += r.findOverdueOn(now, k)
	}
	return lost
}

// findOverdueOn is findOverdue for path k. It sets the time of the path's next check.
func (r *recovery) findOverdueOn(now unit.Time, k int) (lost int) {
	o := &r.orders[k]
	for o.due = unit.Never; o.First < o.Last; o.RemoveOldest() {
		e := o.Oldest()
		if e.Packet < r.una {
			continue
		}
		x := r.packetState(e.Packet)
		if x.sentAt != e.SentAt || int(x.path) != k || x.flags&sacked != 0 { // it was resent, or has arrived
			continue
		}
		if e.SentAt >= o.newest {
			break
		}
		if at := e.SentAt + o.rtt + r.reorderWindow(); at > now {
			o.due = at
			break
		}
		x.flags &^= resent
		lost += r.declareLost(e.Packet)
		r.eligible = max(r.eligible, e.Packet+1)
	}
	return lost
}
