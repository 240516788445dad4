package rdma

import "weir/core/unit"

// Reordering: adaptive on a path that spreads packets over several. There a packet that was sent later proves no loss
// by its arrival: it may have taken another path, and the packet before it may wait in a slow one. So a packet is
// lost when it was overtaken, has waited longer than twice what others of the flow have waited lately, and
//
//   - the receiver has provenRun packets in a row that were sent after it. If it waited, those that took its path would
//     be missing, too, which of n paths is every n-th on average. Or
//   - it was sent longer ago than the patience of the flow. At first that is the LossLimit of the path, or
//     firstPatience round trips if these are shorter: a flow that starts knows of no slow path, and all that is in
//     first windows may wait there. Every experience first windows it halves, down to minPatience round trips and four
//     times what packets have waited lately. It is four times as long, and the run twice, when something was sent
//     again unnecessarily.
//
// A packet that was taken for lost after the patience may still wait. So it counts as in flight until twice the
// patience has passed since it was sent, or LossLimit, or until it arrives: ghosts.

const (
	provenRun     = 96  // (7/8)^96 is 3·10⁻⁶
	firstPatience = 256 // round trips
	minPatience   = 4   // round trips
	experience    = 4   // first windows
)

// waits is what a sender knows of the time that packets wait in slow paths.
type waits struct {
	scan     int64     // transmissions of the order below this are there, or suspects
	run      int       // of those there in a row below scan
	proof    int       // run that proves a loss
	late     unit.Time `state:"span"` // how much longer than the shortest round trip answers have taken lately
	patience unit.Time `state:"span"`
	known    int64     // bytes that arrived since patience halved
	enough   int64     // of known, to halve it again
	unproven int       // packets in goneOut that were taken for lost after the patience
	ghosts   []ghost   // copies that may still be in the network, in the order of until
}

// ghost is a transmission that was taken for lost and may still wait.
type ghost struct {
	n     int64
	until unit.Time `state:"instant"`
}

// newWaits returns the waits of a flow on a path that spreads packets.
func newWaits(limit, rtt unit.Time, window int64) *waits {
	return &waits{proof: provenRun, patience: min(limit, firstPatience*max(rtt, 1)), enough: experience * window}
}

// measure notes that the answer to a packet of so many bytes took so much longer than the shortest round trip. What was
// measured before fades within 64 first windows.
func (w *waits) measure(late unit.Time, bytes int64) {
	w.late = max(w.late, late)
	if w.known += bytes; w.known >= w.enough {
		w.known, w.patience = 0, w.patience/2
		w.late -= w.late / 16
	}
}

// limit returns the patience of a flow with this round trip.
func (w *waits) limit(rtt, limit unit.Time) unit.Time {
	return min(max(w.patience, 4*w.late, minPatience*rtt), limit)
}

// raise notes that something was sent again unnecessarily.
func (w *waits) raise(rtt, limit unit.Time) {
	w.proof = min(2*w.proof, 1<<20)
	w.patience, w.known = min(4*w.limit(rtt, limit), limit, max(w.patience, 16*firstPatience*rtt)), 0
}

// inNetwork returns how many packets may be in the network that are not in flight otherwise. nil: no packet.
func (w *waits) inNetwork() int64 {
	if w == nil {
		return 0
	}
	return int64(w.unproven + len(w.ghosts))
}

// expire forgets the ghosts that cannot be in the network any more.
func (w *waits) expire(now unit.Time) {
	k := 0
	for k < len(w.ghosts) && w.ghosts[k].until <= now {
		k++
	}
	if k > 0 {
		w.ghosts = w.ghosts[:copy(w.ghosts, w.ghosts[k:])]
	}
}

// arrived removes a ghost of packet n.
func (w *waits) arrived(n int64) {
	for k := range w.ghosts {
		if w.ghosts[k].n == n {
			w.ghosts = append(w.ghosts[:k], w.ghosts[k+1:]...)
			return
		}
	}
}

// haunt notes that packet n, which was taken for lost after the patience, is sent again.
func (w *waits) haunt(n int64, until unit.Time) {
	k := len(w.ghosts)
	w.ghosts = append(w.ghosts, ghost{})
	for ; k > 0 && w.ghosts[k-1].until > until; k-- {
		w.ghosts[k] = w.ghosts[k-1]
	}
	w.ghosts[k] = ghost{n, until}
}

// overdueWaiting is overdue on a path that spreads packets.
func (s *Sender) overdueWaiting(now unit.Time) (lost int) {
	o, w := &s.orders[0], s.waits
	if w.expire(now); w.scan < o.head {
		w.scan = o.head
	}
	o.due = unit.Never
	least := o.rtt + max(s.window(), 2*w.late)
	for ; w.scan < o.tail; w.scan++ {
		e := o.at(w.scan)
		switch {
		case !s.isOut(e):
			w.run++
		case e.at >= o.newest || e.at+least > now:
			if e.at < o.newest {
				o.due = e.at + least
			}
			return lost + s.impatient(now)
		default:
			w.run = 0
		}
		if w.run >= w.proof {
			for ; o.head <= w.scan; o.head++ {
				lost += s.overtaken(o.at(o.head), 0)
			}
		}
	}
	return lost + s.impatient(now)
}

// impatient takes for lost what was sent longer ago than the patience.
func (s *Sender) impatient(now unit.Time) (lost int) {
	o, w := &s.orders[0], s.waits
	patience := w.limit(s.leastRTT(), s.loss.Limit)
	for ; o.head < w.scan; o.head++ {
		e := o.at(o.head)
		if !s.isOut(e) {
			continue
		}
		if at := e.at + patience; at > now {
			o.due = min(o.due, at)
			break
		}
		why := waited
		if patience >= s.loss.Limit {
			why = 0
		}
		lost += s.overtaken(e, why)
	}
	if len(w.ghosts) > 0 {
		o.due = min(o.due, w.ghosts[0].until)
	}
	return lost
}

// isOut reports whether transmission e is its packet's latest one, and not known to be there or lost.
func (s *Sender) isOut(e *transmission) bool {
	if e.n < s.una {
		return false
	}
	x := s.at(e.n)
	return x.at == e.at && x.flags&(sacked|gone) == 0
}

// overtaken takes transmission e for lost if it is out, and returns how many packets are found lost.
func (s *Sender) overtaken(e *transmission, why uint16) int {
	if !s.isOut(e) {
		return 0
	}
	x := s.at(e.n)
	x.flags &^= resent
	lost := s.judge(e.n)
	if lost > 0 && why != 0 {
		x.flags |= why
		s.waits.unproven++
	}
	s.eligible = max(s.eligible, e.n+1)
	return lost
}
