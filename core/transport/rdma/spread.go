package rdma

import (
	"weir/core/transport"
	"weir/core/unit"
)

// Reordering: adaptive where switches spread packets over paths of different rates. There the arrival of a packet that
// was sent later proves no loss: it may have taken another path, and the packet before it may wait in a slow one. A
// path that loses all packets looks like a slow one, until a packet arrives late. So the sender decides by time, and
// adapts the time:
//
//   - Lateness is how much later a packet arrived than one that was sent after it. Queues are in order. So a packet in
//     a slow path waits not much longer than the one before it on that path. A packet that has waited for a round trip
//     and twice the latest lateness is overdue, with the window of RACK at least.
//   - An overdue packet is lost when the receiver has provenRun packets in a row that were sent after it. If it waited,
//     packets on its path would be missing, too: every n-th of n paths on average.
//   - Otherwise it is lost after the patience of the flow. When a flow starts, no packet has been late yet. The first
//     windows of h hosts, T·R each, take h/(n·s) round trips T in an uplink of n that has the share s of the rate R:
//     80 with 16 hosts, two uplinks and a tenth. firstPatience is three times that, or the LossLimit of the path if
//     that is shorter. Each experience windows that arrive halve it, down to minPatience. Where one path of n is slow,
//     n windows arrive before all of a window waits there: W·Σ(1-1/n)^k. So eight paths leave a quarter, 64 round
//     trips, where packets wait for 20. A queue that fills makes the next packet of a flow later than the latest.
//     So patience is at least lateness times the measured lateness.
//   - A packet that was declared lost after the patience may still wait. It is a waiting copy, which counts as in
//     flight, until twice the patience has passed since it was sent, or LossLimit, or until it arrives.
//
// A waiting copy that arrives was resent unnecessarily: patience becomes four times as long, and the run twice. If it
// does not arrive in time, the loss is confirmed: a slow path would have delivered it. Then patience becomes a quarter,
// but only once for packets that were resent since the last such change. Below a round trip the flow trusts: an overdue
// packet is lost, as with RACK, and there are no waiting copies. So a path that fails during a flow costs minPatience
// twice and a few round trips, not a patience for every packet. Each experience windows without a confirmed loss double
// the patience, up to minPatience.

const (
	provenRun     = 96  // (7/8)^96 is 3·10⁻⁶
	firstPatience = 256 // round trips
	minPatience   = 4   // round trips
	lateness      = 8   // times the latest lateness
	experience    = 4   // first windows
)

// waits is the sender's estimate of the time that packets wait in slow paths.
type waits struct {
	scan          int64     // transmissions of the order below this have arrived, or have been overdue
	run           int       // number of arrived transmissions in a row below scan
	proof         int       // run that proves a loss
	proven        int64     // transmissions below this are before such a run
	late          unit.Time // the latest lateness
	patience      unit.Time
	known         int64         // bytes that arrived since patience changed
	enough        int64         // value of known at which patience changes again
	lossy         bool          // a loss was confirmed since then
	quartered     unit.Time     // when a confirmed loss last shortened patience
	unproven      int           // packets in goneOut that were declared lost after the patience
	waitingCopies []waitingCopy // copies that may still be in the network, in the order of until
}

// waitingCopy is a transmission that was declared lost and may still wait.
type waitingCopy struct {
	n        int64
	resent   unit.Time // when the packet was resent
	until    unit.Time
	answered bool // one of both copies has arrived
}

// newWaits returns the waits of a flow with packets that are spread over paths of different rates. limit is the path's
// LossLimit, rtt its round trip, window the first window in bytes.
func newWaits(limit, rtt unit.Time, window int64) *waits {
	return &waits{proof: provenRun, patience: min(limit, firstPatience*max(rtt, 1)), enough: experience * window}
}

// recordLateness records the lateness of a packet of so many bytes, where rtt is the shortest round trip. Once enough
// bytes have arrived, the largest lateness decays, and patience moves towards minPatience·rtt.
func (w *waits) recordLateness(late unit.Time, bytes int64, rtt unit.Time) {
	w.late = max(w.late, late)
	if w.known += bytes; w.known < w.enough {
		return
	}
	w.late -= w.late / 16
	switch least := minPatience * rtt; {
	case w.patience > least:
		w.patience = max(w.patience/2, least)
	case !w.lossy:
		w.patience = min(2*w.patience+1, least)
	}
	w.known, w.lossy = 0, false
}

// trustsOrder reports whether confirmed losses have made the patience shorter than a round trip.
func (w *waits) trustsOrder(rtt unit.Time) bool { return w.patience < rtt }

// limitPatience returns the patience of a flow with round trip rtt, at most limit. overdue is the time after which its
// packets are overdue. It changes no state.
func (w *waits) limitPatience(rtt, overdue, limit unit.Time) unit.Time {
	if w.trustsOrder(rtt) {
		return min(overdue, limit)
	}
	return min(max(w.patience, lateness*w.late, overdue), limit)
}

// raisePatience makes the run and the patience longer after an unnecessary retransmission.
func (w *waits) raisePatience(rtt, limit unit.Time) {
	w.proof = min(2*w.proof, 1<<20)
	w.patience, w.known = min(max(4*w.limitPatience(rtt, 0, limit), firstPatience*rtt), limit), 0
}

// inNetwork returns the number of packets that may be in the network in addition to those in flight. nil: 0.
func (w *waits) inNetwork(rtt unit.Time) int64 {
	if w == nil || w.trustsOrder(rtt) {
		return 0
	}
	return int64(w.unproven + len(w.waitingCopies))
}

// confirmExpired removes the waiting copies that cannot be in the network any more: their losses are confirmed, and the
// patience becomes a quarter, at most once for packets that were resent since the last time.
func (w *waits) confirmExpired(now unit.Time) {
	k := 0
	for k < len(w.waitingCopies) && w.waitingCopies[k].until <= now {
		k++
	}
	if k == 0 {
		return
	}
	if w.lossy = true; w.waitingCopies[k-1].resent >= w.quartered {
		w.patience, w.quartered = w.patience/4, now
	}
	w.waitingCopies = w.waitingCopies[:copy(w.waitingCopies, w.waitingCopies[k:])]
}

// recordAnswered records an answer to packet n. It reports whether both copies of a packet have arrived now.
func (w *waits) recordAnswered(n int64) bool {
	if w == nil {
		return false
	}
	for k := range w.waitingCopies {
		if g := &w.waitingCopies[k]; g.n == n {
			if g.answered {
				return true
			}
			g.answered = true
		}
	}
	return false
}

// removeCopy removes the first waiting copy of packet n, if there is one.
func (w *waits) removeCopy(n int64) {
	for k := range w.waitingCopies {
		if w.waitingCopies[k].n == n {
			w.waitingCopies = append(w.waitingCopies[:k], w.waitingCopies[k+1:]...)
			return
		}
	}
}

// addWaiting records that packet n, which was declared lost after the patience, is resent. From the time until on its
// first copy cannot be in the network any more.
func (w *waits) addWaiting(n int64, now, until unit.Time) {
	k := len(w.waitingCopies)
	w.waitingCopies = append(w.waitingCopies, waitingCopy{})
	for ; k > 0 && w.waitingCopies[k-1].until > until; k-- {
		w.waitingCopies[k] = w.waitingCopies[k-1]
	}
	w.waitingCopies[k] = waitingCopy{n: n, resent: now, until: until}
}

// findPatience returns the patience of the flow, and the time after which packets are overdue.
func (r *recovery) findPatience() (patience, overdue unit.Time) {
	overdue = r.orders[0].rtt + max(r.reorderWindow(), 2*r.waits.late)
	return r.waits.limitPatience(r.shortestRTT(), overdue, r.loss.Limit), overdue
}

// measureLateness records the arrival of packet x of bytes bytes, which was sent once.
func (r *recovery) measureLateness(now unit.Time, x *sent, bytes int64) {
	late := unit.Time(0)
	if o := &r.orders[0]; x.sentAt < o.newest {
		late = max(now-x.sentAt-o.rtt, 0)
	}
	r.waits.recordLateness(late, bytes, r.shortestRTT())
}

// findOverdueWaiting is findOverdue for paths of different rates: an overdue packet is lost only after the patience,
// unless a run of later arrivals proves the loss. It sets the time of the next check.
func (r *recovery) findOverdueWaiting(now unit.Time) (lost int) {
	o, w := &r.orders[0], r.waits
	if w.confirmExpired(now); w.scan < o.First {
		w.scan = o.First
	}
	o.due = unit.Never
	patience, overdue := r.findPatience()
scan:
	for ; w.scan < o.Last; w.scan++ {
		e := o.At(w.scan)
		switch {
		case !r.isInFlight(e):
			w.run++
		case e.SentAt >= o.newest:
			break scan
		case e.SentAt+overdue > now:
			o.due = e.SentAt + overdue
			break scan
		default:
			w.run = 0
		}
		if w.run >= w.proof {
			w.proven = w.scan + 1
		}
	}
	for ; o.First < w.scan; o.RemoveOldest() {
		e := o.At(o.First)
		if !r.isInFlight(e) {
			continue
		}
		wait, why := patience, waited
		if o.First < w.proven {
			wait, why = min(overdue, r.loss.Limit), 0
		}
		if at := e.SentAt + wait; at > now {
			o.due = min(o.due, at)
			break
		}
		if wait >= r.loss.Limit {
			why = 0
		}
		lost += r.declareOvertaken(e, why)
	}
	if len(w.waitingCopies) > 0 {
		o.due = min(o.due, w.waitingCopies[0].until)
	}
	return lost
}

// declareOvertaken declares transmission e lost if it is in flight, with flag why, and returns the number of packets
// newly lost.
func (r *recovery) declareOvertaken(e *transport.Flight, why uint16) int {
	if !r.isInFlight(e) {
		return 0
	}
	x := r.packetState(e.Packet)
	x.flags &^= resent
	lost := r.declareLost(e.Packet)
	if lost > 0 && why != 0 {
		x.flags |= why
		r.waits.unproven++
	}
	r.eligible = max(r.eligible, e.Packet+1)
	return lost
}
