package hpcc

import (
	"weir/core/cc"
	"weir/core/unit"
)

// window is the common part of the senders: W, its limits, and the behaviour without telemetry. Windows are in bytes,
// with fractions.
type window struct {
	flow        cc.Flow
	isGiven     bool // T is given, not measured
	t           unit.Time
	perTime     float64 // 1/T, in 1/ps; 0: T is unknown
	rate        unit.Rate
	minRate     unit.Rate
	share       float64 // of the flow, for the start and growth of W: 1, or one of several paths
	w           float64
	minWindow   float64 // limits of w
	maxWindow   float64
	hasOwnLimit bool // data in flight is limited by W_init or, if isUnlimited, not at all, instead of W
	isUnlimited bool

	timedOut bool    // a timeout has declared everything in flight lost
	restart  float64 // window after a timeout, until records arrive
	una      int64
}

// roundTrip is the round trip since the last update (lines 22 to 24).
type roundTrip struct {
	lastUpdateSeq int64 // line 24
	delivered     int64 // Ack.Delivered at the last update
}

// isRoundTripOver is line 22: a packet sent after the last update has been acknowledged. A sender that has gone back
// resends much of the data below lastUpdateSeq, since snd_nxt is the first byte never sent. A packet was resent after
// the update if enough had been delivered when it departed.
func (t *roundTrip) isRoundTripOver(a *cc.Ack) bool {
	seq := a.Seq
	if seq == 0 {
		seq = a.FirstUnacked
	}
	return seq > t.lastUpdateSeq || a.Delivery.Retransmitted && a.Delivery.Packets > 0 &&
		a.Delivery.PriorDelivered >= t.delivered
}

// beginRoundTrip is line 24.
func (t *roundTrip) beginRoundTrip(a *cc.Ack) { t.lastUpdateSeq, t.delivered = a.Next, a.Delivered }

// newWindow returns the window of a flow with T and the minimum rate. T 0 is the path's (f.BaseRTT) or measured. W is
// W_init with a known T and NIC, otherwise f.InitialWindow segments; one of several paths starts with its part.
func newWindow(f cc.Flow, t unit.Time, minRate unit.Rate) window {
	if t == 0 {
		t = f.BaseRTT
	}
	f.MSS = max(f.MSS, 1)
	x := window{flow: f, isGiven: t > 0, rate: f.NICRate, minRate: minRate, share: 1 / float64(max(f.Paths, 1))}
	x.w = float64(max(f.InitialWindow, 1)) * float64(f.MSS) * x.share
	x.setBaseRTT(t)
	if x.rate > 0 && t > 0 {
		x.w = x.clamp(x.maxWindow * x.share) // flows start at line rate (draft-miao §5)
	}
	return x
}

// setBaseRTT sets the base round-trip time T and the limits of the window, which the draft leaves open: at least
// MinRate·T and one byte, at most W_init = B_NIC·T, which is at least a packet. The lowest rate of the path replaces an
// unknown NIC's rate. With t 0, T is unknown, and W almost unlimited. It limits W.
func (x *window) setBaseRTT(t unit.Time) {
	x.t, x.perTime = t, 0
	x.minWindow, x.maxWindow = 1, cc.Unlimited*float64(x.flow.MSS)
	if t > 0 {
		x.perTime = 1 / float64(t)
		if x.rate > 0 {
			x.maxWindow = min(x.maxWindow, max(float64(x.rate)*float64(t)/8e12, float64(x.flow.MSS)))
		}
		x.minWindow = min(max(1, float64(x.minRate)*float64(t)/8e12), x.maxWindow)
	}
	x.w = x.clamp(x.w)
}

// updateBaseRTT adopts the measured minimum as T unless T is given, and reports whether T has changed. It also stores
// the acknowledgement's first unacknowledged byte.
func (x *window) updateBaseRTT(a *cc.Ack) bool {
	x.una = a.FirstUnacked
	if x.isGiven || a.RTT.Min <= 0 || a.RTT.Min == x.t {
		return false
	}
	x.setBaseRTT(a.RTT.Min)
	return true
}

// clamp returns w within the limits; infinity and NaN become the upper limit.
func (x *window) clamp(w float64) float64 {
	if !(w < x.maxWindow) {
		return x.maxWindow
	}
	return max(w, x.minWindow)
}

// withTelemetry ends the restart after a timeout: records determine the window.
func (x *window) withTelemetry() { x.timedOut = false }

// withoutTelemetry handles an ACK without records. After a timeout the restarted window grows from one packet by the
// bytes acknowledged, as in slow start (RFC 5681 §3.1), up to W; otherwise it has no effect.
func (x *window) withoutTelemetry(a *cc.Ack) {
	if x.timedOut {
		if x.restart += float64(a.Bytes); x.restart >= x.w {
			x.timedOut = false
		}
	}
}

// onLoss restarts with one packet as a probe after a timeout, when the path's state is unknown; the drafts do not
// define it. A spurious timeout ends the restart. Other losses do not change the window: telemetry does.
func (x *window) onLoss(l cc.Loss) {
	switch l.Kind {
	case cc.RetransmissionTimeout:
		x.timedOut, x.restart = true, float64(x.flow.MSS)
	case cc.Spurious:
		x.timedOut = false
	}
}

// Decision returns the window, at least a packet, and the pacing rate R = W/T (line 27) of the unrounded W: with a W
// below a packet, one packet is in flight, paced.
func (x *window) Decision() cc.Decision {
	w := x.w
	if x.timedOut {
		w = min(w, x.restart)
	}
	d := cc.Decision{Window: max(unit.Bytes(w), unit.Bytes(x.flow.MSS)), NextTimer: unit.Never}
	if x.perTime > 0 {
		r := x.w * 8e12 / float64(x.t)
		if x.rate > 0 {
			r = min(r, float64(x.rate))
		}
		d.Rate = max(unit.Rate(r), 1)
	}
	if x.hasOwnLimit {
		d.Window = x.limitInFlight(d.Window)
	}
	return d
}

// limitInFlight returns the limit of data in flight, in bytes, if it is not W: W_init, or no limit. After a timeout it
// is the window w.
func (x *window) limitInFlight(w unit.Bytes) unit.Bytes {
	switch {
	case x.timedOut:
		return w
	case x.isUnlimited:
		return x.flow.FreeWindow()
	}
	return max(unit.Bytes(x.maxWindow), unit.Bytes(x.flow.MSS))
}

// OnSend has no effect.
func (x *window) OnSend(unit.Time, cc.Sent) {}

// OnNotice has no effect.
func (x *window) OnNotice(unit.Time, cc.Notice) {}

// OnTimer is never called.
func (x *window) OnTimer(unit.Time) {}
