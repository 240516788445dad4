// Package supply is a sender's response to NACKs with the rate that a switch offers the flow (cc.Notice's Supply). It
// wraps any controller and limits its window and rate, so that the flow sends what the switch offers.
//
// The law is Weir's, because no text gives it. BS'19 §4.3 requires that a sender "should be able to quickly reduce its
// sending rate", BS'19 §5 that its controller should "simply acknowledge an explicit signal". Only the abstract of the
// follow-up is available (Fathalli et al., IEEE TNSM 2026). Its aim is to match "a flow's demands with supply", without
// slow-start spikes, and fairly for flows of different round-trip times. The law:
//
//   - Supply s, in bit/s of frames, becomes the bound B = s · payload/frame. The pacing rate is at most B, the
//     window ⌈B·T⌉ + 1 packets, where T is the base RTT or the minimum measured RTT. The window alone would not
//     suffice, since it cannot fall below a packet a round trip. The rate alone would not drain the queue. The
//     additional packet is for receivers that acknowledge every second packet (RFC 1122 §4.2.3.2): a flow with a
//     share of the path below a packet would wait for their timer. So the packets in flight fall to the supply's
//     share of the path within a round trip, and the flow's queue drains.
//   - A round trip (smoothed, at least T) has one reduction. The min supply of all notices within it counts, so that
//     the scarcest of several switches decides. A later notice with a lower supply reduces again; one with a higher
//     supply has no effect.
//   - B holds for a round trip. Then it rises with delivered data, in time: by 1/64 each 10 ms, or each round trip if
//     that is shorter, so that flows of 10 and of 100 ms take equal parts of free capacity. It rises by at most 1/48 a
//     round trip, because the effect is visible only after one. After 16 round trips without a notice it rises by 1/8 a
//     round trip; it never doubles. A round trip counts as the time of 4 packets at B, if that is longer: where many
//     flows share a switch, each learns of congestion by its own few packets. The bound of a flow that does not send
//     does not rise.
//   - Once the wrapped controller asks for less than B, the bound ends until the next notice. It does not end while the
//     wrapped controller is in slow start, which ends with the first notice: its window can only follow the bound.
//   - Fairness is the switch's task: flows with equal supply get equal rates at any RTT. Between notices flows
//     differ by the rise of their bounds, which is small while congestion brings notices. A queue that other flows
//     maintain costs a flow of short RTT more, because its window fits the empty path.
//   - A notice without supply counts as half of the demand in the notice, or of the flow's permitted rate if it has no
//     demand.
//   - A forged notice can contain any supply. One reduction leaves at least a 64th of the permitted rate, and a packet
//     in 8 round trips or 10 ms, whichever is longer.
//
// The wrapped controller does not learn of NACKs: it gets neither the notice, since that would cause two reactions to
// one congestion, nor the losses in it (Total and State of Ack.Losses are corrected; transports do not call OnLoss for
// them). It responds to other events as it does without NACKs, within the bound: losses found by SACK or a timeout, ECN
// echoes, CNPs, delays and telemetry. One loss is exempt: the first one that SACK finds in the round trip after the
// first notice in 16. It belongs to the congestion that the notice reported, or a flow's change of queue has reordered
// it. While the bound is tighter than the controller's own window, ACKs have Limited false, so that the controller does
// not grow an unused window (RFC 7661 §4.2).
package supply

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/unit"
)

// Constants of the law.
const (
	slowOpening    = 1. / 64               // rise of the bound, as a share of the delivered data
	maxOpening     = 1. / 48               // max rise in a round trip
	fastOpening    = 1. / 8                // max rise after a quiet time
	quietTrips     = 16                    // round trips without a notice
	blindShare     = 0.5                   // share of the demand if the supply is not reported
	minShare       = 1. / 64               // share of the permitted rate that a reduction leaves
	maxTurn        = 10 * unit.Millisecond // longest time that counts as a round trip for the rise of the bound,
	minTurnPackets = 4                     // and the packets that take the shortest
	pauseTrips     = 8                     // max time between packets, in round trips,
	minPause       = 10 * unit.Millisecond // or this
)

// supply is a controller within a bound.
type supply struct {
	inner        cc.Controller
	mss          float64
	lineRate     float64 // rate of payload [bit/s]; +Inf: not known
	payloadShare float64 // payload bits per bit of frames

	knowsBase bool      // baseRTT is from the flow's path
	baseRTT   unit.Time // T; 0: not known yet
	srtt      unit.Time

	bounded         bool
	rate            float64 // B, bit/s of payload; +Inf: no bound
	window          float64 // the bound's window, in bytes; +Inf without T
	minRate         float64 // min of B in the round trip of the last reduction
	reducedAt       unit.Time
	noticedAt       unit.Time // time of the last notice
	hasNotice       bool      // noticedAt is valid
	congestionStart unit.Time // time of the first notice of this congestion
	sparesLoss      bool      // the inner controller does not get the first loss in its round trip

	nackedPackets int64 // packets that NACKs have reported lost
	reduced       bool  // the inner controller is in a state other than Open
	ack           cc.Ack
}

// NewBounded returns controller inner of flow f within the bound of NACKs. f must have an MSS. Its BaseRTT is T if
// known. Its LineRate and NICRate, or else MSS and MTU, give the payload's share of a frame. Without both pairs the
// share is 1. NewBounded fails without a controller, without an MSS or with a negative BaseRTT.
func NewBounded(inner cc.Controller, f cc.Flow) (cc.Controller, error) {
	switch {
	case inner == nil:
		return nil, fmt.Errorf("supply: there is no controller to wrap")
	case f.MSS <= 0:
		return nil, fmt.Errorf("supply: packets of %d B; allowed: above 0", f.MSS)
	case f.BaseRTT < 0:
		return nil, fmt.Errorf("supply: a base RTT of %v; allowed: 0s or more", f.BaseRTT)
	}
	s := &supply{inner: inner, mss: float64(f.MSS), lineRate: math.Inf(1), payloadShare: 1, knowsBase: f.BaseRTT > 0,
		baseRTT: f.BaseRTT,
		rate:    math.Inf(1)}
	if f.LineRate > 0 {
		s.lineRate = float64(f.LineRate)
	}
	const ethernet = 14 // header of a frame, without FCS
	switch {
	case f.LineRate > 0 && f.NICRate > 0:
		s.payloadShare = min(float64(f.LineRate)/float64(f.NICRate), 1)
	case f.MTU >= f.MSS:
		s.payloadShare = float64(f.MSS) / float64(f.MTU+ethernet)
	}
	return s, nil
}

// roundTrip returns the flow's current round trip; 0: not known yet.
func (s *supply) roundTrip() unit.Time { return max(s.srtt, s.baseRTT) }

// setBound sets the bound to a rate in bit/s of payload, and its window.
func (s *supply) setBound(rate float64) {
	s.rate, s.window = rate, math.Inf(1)
	if s.baseRTT > 0 {
		s.window = (math.Ceil(rate*float64(s.baseRTT)/8e12/s.mss-1e-9) + 1) * s.mss
	}
}

// OnSend passes the packet to the wrapped controller.
func (s *supply) OnSend(now unit.Time, x cc.Sent) { s.inner.OnSend(now, x) }

// OnAck updates round-trip times, passes the corrected acknowledgement to the wrapped controller, and raises the
// bound.
func (s *supply) OnAck(now unit.Time, a *cc.Ack) {
	s.updateRTT(a)
	if s.nackedPackets > 0 || s.bounded {
		s.ack = *a
		s.ack.Losses.Total = s.lostTotal(a.Losses.Total)
		if a.Losses.State == cc.Recovery && !s.reduced {
			s.ack.Losses.State = cc.Open
		}
		if s.isTighter() {
			s.ack.Limited = false
		}
		a = &s.ack
	}
	s.inner.OnAck(now, a)
	s.ack.Telemetry.Hops = nil // the caller's
	if s.bounded {
		s.raiseBound(now, a.Bytes)
	}
}

// updateRTT stores the transport's smoothed round trip and, if the path's is not known, the min as T. A new T changes
// the bound's window.
func (s *supply) updateRTT(a *cc.Ack) {
	s.srtt = max(a.RTT.Smoothed, 0)
	if s.knowsBase || a.RTT.Min <= 0 || a.RTT.Min == s.baseRTT {
		return
	}
	s.baseRTT = a.RTT.Min
	if s.bounded {
		s.setBound(s.rate)
	}
}

// lostTotal returns n lost packets less the packets that NACKs reported.
func (s *supply) lostTotal(n int64) int64 { return max(n-s.nackedPackets, 0) }

// isTighter reports whether the bound's window is below the controller's.
func (s *supply) isTighter() bool {
	return s.bounded && s.window < float64(s.inner.Decision().Window)
}

// raiseBound raises the bound by a share of the delivered bytes, not within a round trip after a reduction. It ends
// the bound when the controller asks for less.
func (s *supply) raiseBound(now unit.Time, delivered unit.Bytes) {
	trip := s.roundTrip()
	if trip <= 0 || now-s.reducedAt < trip {
		return
	}
	noticeTime := unit.Time(min(minTurnPackets*s.mss*8e12/s.rate, math.MaxInt64/2/quietTrips))
	turn := max(min(trip, maxTurn), noticeTime)
	trip = max(trip, noticeTime)
	gain := min(slowOpening/float64(turn), maxOpening/float64(trip))
	if now-s.noticedAt >= s.quietTime(trip) {
		gain = fastOpening / float64(trip)
	}
	s.setBound(s.rate + float64(gain*float64(max(delivered, 0))*8e12))
	if d := s.inner.Decision(); !d.SlowStart && (d.Rate > 0 && float64(d.Rate) <= s.rate ||
		float64(d.Window) <= s.window) {
		s.bounded, s.rate = false, math.Inf(1)
	}
}

// quietTime returns the time without a notice after which the next notice reports a new congestion.
func (s *supply) quietTime(trip unit.Time) unit.Time { return quietTrips * trip }

// OnNotice applies a NACK's supply. Other notices go to the wrapped controller.
func (s *supply) OnNotice(now unit.Time, n cc.Notice) {
	if n.Kind != cc.NackNotice {
		s.inner.OnNotice(now, n)
		return
	}
	if n.Lost > 0 {
		s.nackedPackets += int64(math.Ceil(float64(n.Lost) / s.mss))
	}
	trip := s.roundTrip()
	if !s.hasNotice || now-s.noticedAt >= s.quietTime(trip) {
		s.hasNotice, s.sparesLoss, s.congestionStart = true, true, now
	}
	s.noticedAt = now
	hadReduction := s.bounded && (trip <= 0 || now-s.reducedAt < trip) // a reduction in this round trip
	rate := s.offeredRate(n, hadReduction)
	if rate <= 0 || rate >= s.rate {
		return
	}
	if !hadReduction {
		s.minRate = max(s.allowedRate()*minShare, s.mss*8e12/float64(max(pauseTrips*trip, minPause)))
		s.bounded, s.reducedAt = true, now
	}
	s.setBound(min(max(rate, s.minRate), s.rate))
}

// offeredRate returns the rate that a notice stands for, in bit/s of payload; 0: it reports no rate. hadReduction
// excludes the guess from the permitted rate.
func (s *supply) offeredRate(n cc.Notice, hadReduction bool) float64 {
	rate := float64(n.Supply)
	if rate <= 0 {
		rate = float64(n.Demand) * blindShare
	}
	rate *= s.payloadShare
	if rate <= 0 && !hadReduction {
		rate = s.allowedRate() * blindShare
	}
	return rate
}

// allowedRate returns the rate that the flow may send at now [bit/s]; 0: not known.
func (s *supply) allowedRate() float64 {
	d := s.Decision()
	rate := s.lineRate
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

// OnLoss passes the loss on, except for the spared one. The transport does not call it for losses that NACKs report.
func (s *supply) OnLoss(now unit.Time, l cc.Loss) {
	if l.Kind == cc.FastRecovery && s.sparesLoss {
		s.sparesLoss = false
		if now-s.congestionStart < s.roundTrip() {
			return
		}
	}
	switch l.Kind {
	case cc.FastRecovery, cc.LossInReduction, cc.ECNEcho, cc.Warned, cc.RetransmissionTimeout:
		s.reduced = true
	case cc.Recovered:
		if s.hasNotice && !s.reduced {
			return // the controller did not get the beginning either
		}
		s.reduced = false
	}
	l.LostTotal = s.lostTotal(l.LostTotal)
	s.inner.OnLoss(now, l)
}

// OnTimer passes the call on; the bound needs no timer.
func (s *supply) OnTimer(now unit.Time) { s.inner.OnTimer(now) }

// Decision returns the wrapped controller's decision within the bound: at most its own window and rate, at least a
// packet.
func (s *supply) Decision() cc.Decision {
	d := s.inner.Decision()
	if !s.bounded {
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
