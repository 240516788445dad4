// Package supply is a sender's reaction to NACKs that say what a switch has for the flow
// (cc.Notice's Supply): it wraps any controller and bounds window and rate, so that what
// the flow sends meets what there is.
//
// The reaction is ours. BS'19 §4.3 says that a sender "should be able to quickly reduce its
// sending rate", §5 that its controller should "simply acknowledge an explicit signal"; of
// the follow-up (Fathalli et al., IEEE TNSM 2026) only the abstract can be had, from which
// the aim is: to match "a flow's demands with supply", without slow-start spikes, and fair to
// flows of different round-trip times. No text gives the law. Here it is:
//
//   - Supply s, in bit/s of frames, becomes the bound B = s · payload/frame. The pacing rate is
//     at most B, the window ⌈B·T⌉ + 1 packets, T being the base RTT or the least measured. The
//     window alone would not do, for it cannot fall below a packet a round trip; the rate
//     alone would leave standing what is queued. The packet more is for receivers that
//     acknowledge every second one (RFC 1122 §4.2.3.2): a flow whose share of the path is
//     below a packet would wait for their timer. So in flight is the supply's share of the
//     path within a round trip, and the queue that the flow had built is gone.
//   - A round trip (smoothed, at least T) has one reduction. The least supply counts that any
//     notice names within it: of several switches the scarcest decides. Later notices
//     count: a lower supply reduces again, a higher one raises nothing.
//   - B holds for a round trip; then it opens with what is delivered, in time: by 1/64 each 10 ms, or
//     each round trip if that is shorter, so that flows of 10 and of 100 ms take alike of what is
//     free; but by 1/48 a round trip at most, for what it opens is seen after one. When no notice
//     has come for 16 round trips it is 1/8 a round trip, never a doubling. A round trip counts as
//     the time of 4 packets at B, if that is longer: where many flows share a switch each hears of
//     congestion by the few packets that it sends. A flow that does not send does not open.
//   - Once the wrapped controller asks for less than B, the bound is gone until the next notice;
//     but not as long as the wrapped one is in slow start: that ends with the first
//     notice, for beyond the bound it can only go as the bound opens.
//   - Fairness is the switch's: whoever is told the same supply gets the same rate, whatever
//     its RTT. What flows take in between differs by what they open, little as long
//     as congestion brings notices. A queue that others keep up costs a flow of short RTT
//     more, for its window is that of the empty path.
//   - A notice without supply counts as half of the demand that it names, or of what
//     the flow is allowed to send if it names none.
//   - A forged notice can name any supply. One reduction leaves a 64th of what the flow might
//     send, and a packet in 8 round trips or 10 ms, whichever is longer.
//
// The wrapped controller hears nothing of NACKs: not the notice (two reactions to one
// congestion would be one too many), nor that packets are lost by it (Ack.LostTotal and
// State are put right; transports do not call OnLoss for them). What it is told of
// otherwise, losses that SACK or a timeout finds, ECN echoes, CNPs, delays and telemetry, it
// answers as it does without NACKs, beneath the bound; but not the first loss that SACK finds in the
// round trip after the first notice in 16: it is of the congestion of which the notice has said what to
// do, or a flow's change of queue has reordered it. While the bound is tighter than its
// own window, ACKs come with Limited false, so that it does not grow a window that nobody
// uses (RFC 7661 §4.2).
package supply

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/unit"
)

// The law's constants, ours.
const (
	slow       = 1. / 64               // of what is delivered, by which the bound opens
	most       = 1. / 48               // the most of it in a round trip
	fast       = 1. / 8                // the same after a quiet time
	quiet      = 16                    // round trips without a notice
	blind      = 0.5                   // of the demand, when the supply is not said
	depth      = 1. / 64               // of what the flow may send, that a reduction leaves
	moment     = 10 * unit.Millisecond // longest time that counts as a round trip for opening,
	packets    = 4                     // whose time is the least that counts as a round trip for opening
	pauseTrips = 8                     // longest time between packets, in round trips,
	leastPause = 10 * unit.Millisecond // or this
)

// supply is a controller beneath a bound.
type supply struct {
	inner cc.Controller
	mss   float64
	line  float64 // of payload [bit/s]; +Inf: not known
	share float64 // payload of a bit of frames

	given bool      // base is
	base  unit.Time // T; 0: not known yet
	srtt  unit.Time

	bounds    bool
	rate      float64 // B, bit/s of payload; +Inf while there is none
	window    float64 // its window, in bytes; +Inf without T
	least     float64 // of B, in the round trip of the last reduction
	reducedAt unit.Time
	heard     unit.Time // the last notice
	told      bool      // heard is one
	began     unit.Time // the first notice of this congestion
	spares    bool      // the inner controller, of the first loss in its round trip

	noticed int64 // packets that NACKs have reported lost
	reduced bool  // the inner controller, of a state other than Open
	ack     cc.Ack
}

// Wrap puts the controller of flow f beneath what NACKs offer. f must know its MSS; its BaseRTT is
// T if it is known, its LineRate and NICRate, or else MSS and MTU, give the payload's share of
// a frame.
func Wrap(inner cc.Controller, f cc.Flow) (cc.Controller, error) {
	switch {
	case inner == nil:
		return nil, fmt.Errorf("supply: there is no controller to wrap")
	case f.MSS <= 0:
		return nil, fmt.Errorf("supply: packets of %d B; above 0 are possible", f.MSS)
	case f.BaseRTT < 0:
		return nil, fmt.Errorf("supply: a base RTT of %v; 0s or more is possible", f.BaseRTT)
	}
	s := &supply{inner: inner, mss: float64(f.MSS), line: math.Inf(1), share: 1, given: f.BaseRTT > 0, base: f.BaseRTT,
		rate: math.Inf(1)}
	if f.LineRate > 0 {
		s.line = float64(f.LineRate)
	}
	const ethernet = 14 // header of a frame, without FCS
	switch {
	case f.LineRate > 0 && f.NICRate > 0:
		s.share = min(float64(f.LineRate)/float64(f.NICRate), 1)
	case f.MTU >= f.MSS:
		s.share = float64(f.MSS) / float64(f.MTU+ethernet)
	}
	return s, nil
}

// roundTrip is a round trip as the flow sees it; 0: not known yet.
func (s *supply) roundTrip() unit.Time { return max(s.srtt, s.base) }

// set moves the bound.
func (s *supply) set(rate float64) {
	s.rate, s.window = rate, math.Inf(1)
	if s.base > 0 {
		s.window = (math.Ceil(rate*float64(s.base)/8e12/s.mss-1e-9) + 1) * s.mss
	}
}

// OnSend passes it on.
func (s *supply) OnSend(now unit.Time, x cc.Sent) { s.inner.OnSend(now, x) }

// OnAck learns round-trip times, lets the wrapped controller know, and opens the bound.
func (s *supply) OnAck(now unit.Time, a *cc.Ack) {
	s.updateRTT(a)
	if s.noticed > 0 || s.bounds {
		s.ack = *a
		s.ack.Losses.Total = s.lostTotal(a.Losses.Total)
		if a.Losses.State == cc.Recovery && !s.reduced {
			s.ack.Losses.State = cc.Open
		}
		if s.tighter() {
			s.ack.Limited = false
		}
		a = &s.ack
	}
	s.inner.OnAck(now, a)
	s.ack.Telemetry.Hops = nil // the caller's
	if s.bounds {
		s.open(now, a.Bytes)
	}
}

// updateRTT takes what the transport has measured.
func (s *supply) updateRTT(a *cc.Ack) {
	s.srtt = max(a.RTT.Smoothed, 0)
	if s.given || a.RTT.Min <= 0 || a.RTT.Min == s.base {
		return
	}
	s.base = a.RTT.Min
	if s.bounds {
		s.set(s.rate)
	}
}

// lostTotal leaves out the packets that are known from NACKs.
func (s *supply) lostTotal(n int64) int64 { return max(n-s.noticed, 0) }

// tighter reports whether the bound's window is the smaller one.
func (s *supply) tighter() bool {
	return s.bounds && s.window < float64(s.inner.Decision().Window)
}

// open raises the bound by a share of what was delivered, not earlier than a round trip
// after a reduction, and lets go of it when it bounds nothing.
func (s *supply) open(now unit.Time, delivered unit.Bytes) {
	trip := s.roundTrip()
	if trip <= 0 || now-s.reducedAt < trip {
		return
	}
	hears := unit.Time(min(packets*s.mss*8e12/s.rate, math.MaxInt64/2/quiet))
	turn := max(min(trip, moment), hears)
	trip = max(trip, hears)
	gain := min(slow/float64(turn), most/float64(trip))
	if now-s.heard >= s.calm(trip) {
		gain = fast / float64(trip)
	}
	s.set(s.rate + float64(gain*float64(max(delivered, 0))*8e12))
	if d := s.inner.Decision(); !d.SlowStart && (d.Rate > 0 && float64(d.Rate) <= s.rate ||
		float64(d.Window) <= s.window) {
		s.bounds, s.rate = false, math.Inf(1)
	}
}

// calm is the time without a notice after which the next is of another congestion.
func (s *supply) calm(trip unit.Time) unit.Time { return quiet * trip }

// OnNotice takes a NACK's supply; other notices are the wrapped controller's.
func (s *supply) OnNotice(now unit.Time, n cc.Notice) {
	if n.Kind != cc.NackNotice {
		s.inner.OnNotice(now, n)
		return
	}
	if n.Lost > 0 {
		s.noticed += int64(math.Ceil(float64(n.Lost) / s.mss))
	}
	trip := s.roundTrip()
	if !s.told || now-s.heard >= s.calm(trip) {
		s.told, s.spares, s.began = true, true, now
	}
	s.heard = now
	held := s.bounds && (trip <= 0 || now-s.reducedAt < trip) // there was a reduction in this round trip
	rate := s.offered(n, held)
	if rate <= 0 || rate >= s.rate {
		return
	}
	if !held {
		s.least = max(s.allowed()*depth, s.mss*8e12/float64(max(pauseTrips*trip, leastPause)))
		s.bounds, s.reducedAt = true, now
	}
	s.set(min(max(rate, s.least), s.rate))
}

// offered is the rate that a notice stands for; 0: it says nothing.
func (s *supply) offered(n cc.Notice, held bool) float64 {
	rate := float64(n.Supply)
	if rate <= 0 {
		rate = float64(n.Demand) * blind
	}
	rate *= s.share
	if rate <= 0 && !held {
		rate = s.allowed() * blind
	}
	return rate
}

// allowed is what the flow may send now [bit/s]; 0: not known.
func (s *supply) allowed() float64 {
	d := s.Decision()
	rate := s.line
	if d.Rate > 0 {
		rate = min(rate, float64(d.Rate))
	}
	if trip := s.roundTrip(); trip > 0 && float64(d.Window) < cc.Unlimited*s.mss {
		rate = min(rate, float64(d.Window)*8e12/float64(trip))
	}
	if math.IsInf(rate, 1) {
		return 0
	}
	return rate
}

// OnLoss passes it on: the transport does not call it for what NACKs report.
func (s *supply) OnLoss(now unit.Time, l cc.Loss) {
	if l.Kind == cc.FastRecovery && s.spares {
		s.spares = false
		if now-s.began < s.roundTrip() {
			return
		}
	}
	switch l.Kind {
	case cc.FastRecovery, cc.LossInReduction, cc.ECNEcho, cc.Warned, cc.RetransmissionTimeout:
		s.reduced = true
	case cc.Recovered:
		if s.told && !s.reduced {
			return // the beginning was not told either
		}
		s.reduced = false
	}
	l.LostTotal = s.lostTotal(l.LostTotal)
	s.inner.OnLoss(now, l)
}

// OnTimer passes it on; the bound needs no timer.
func (s *supply) OnTimer(now unit.Time) { s.inner.OnTimer(now) }

// Decision is the wrapped controller's beneath the bound: never more than it asks for, never
// less than a packet.
func (s *supply) Decision() cc.Decision {
	d := s.inner.Decision()
	if !s.bounds {
		return d
	}
	if s.window < float64(d.Window) {
		d.Window, d.SlowStart = unit.Bytes(s.window), false
	}
	if r := max(unit.Rate(min(s.rate, math.MaxInt64/2)), 1); d.Rate == 0 || r < d.Rate {
		d.Rate = r
	}
	return d
}
