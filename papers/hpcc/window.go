package hpcc

import (
	"weir/core/cc"
	"weir/core/unit"
)

// window is the common part of the senders: W, its bounds, and what happens without telemetry. Windows are
// in bytes, with fractions.
type window struct {
	flow    cc.Flow
	given   bool // T is, and is not measured
	t       unit.Time
	perTime float64 // 1/T, in 1/ps; 0: T is unknown
	rate    unit.Rate
	minRate unit.Rate
	share   float64 // of the flow, by which W begins and grows: 1, or of one path of several
	w       float64
	least   float64 // bounds of w
	most    float64
	apart   bool // what bounds what is in flight is not W, but W_init or, if loose, nothing
	loose   bool

	timedOut bool    // a timeout has declared everything in flight lost
	restart  float64 // window until there are records again; then w applies
	una      int64
}

// roundTrip is the round trip since the last update, of lines 22 to 24.
type roundTrip struct {
	lastUpdateSeq int64 // line 24
	delivered     int64 // Ack.Delivered then
}

// roundTripOver is line 22: a packet that was sent after the last update has been acknowledged. A sender
// that has gone back resends much of what is below lastUpdateSeq, since snd_nxt is the first byte never
// sent. Whether a packet was resent after the update shows in how much had been delivered when it left.
func (t *roundTrip) roundTripOver(a *cc.Ack) bool {
	seq := a.Seq
	if seq == 0 {
		seq = a.Una
	}
	return seq > t.lastUpdateSeq || a.Delivery.Retransmitted && a.Delivery.Packets > 0 &&
		a.Delivery.PriorDelivered >= t.delivered
}

// beginRoundTrip is line 24.
func (t *roundTrip) beginRoundTrip(a *cc.Ack) { t.lastUpdateSeq, t.delivered = a.Next, a.Delivered }

func newWindow(f cc.Flow, t unit.Time, minRate unit.Rate) window {
	if t == 0 {
		t = f.BaseRTT
	}
	f.MSS = max(f.MSS, 1)
	x := window{flow: f, given: t > 0, rate: f.NICRate, minRate: minRate, share: 1 / float64(max(f.Paths, 1))}
	x.w = float64(max(f.InitialWindow, 1)) * float64(f.MSS) * x.share
	x.setBaseRTT(t)
	if x.rate > 0 && t > 0 {
		x.w = x.clamp(x.most * x.share) // flows start at line rate (draft-miao §5)
	}
	return x
}

// setBaseRTT sets the base round-trip time and with it the bounds of the window, which the draft leaves
// open: at least MinRate·T and one byte, and at most W_init = B_NIC·T, which is at least a packet. If the
// NIC's rate is unknown, the least rate of the path replaces it.
func (x *window) setBaseRTT(t unit.Time) {
	x.t, x.perTime = t, 0
	x.least, x.most = 1, cc.Unlimited*float64(x.flow.MSS)
	if t > 0 {
		x.perTime = 1 / float64(t)
		if x.rate > 0 {
			x.most = min(x.most, max(float64(x.rate)*float64(t)/8e12, float64(x.flow.MSS)))
		}
		x.least = min(max(1, float64(x.minRate)*float64(t)/8e12), x.most)
	}
	x.w = x.clamp(x.w)
}

// updateBaseRTT adopts a measured T if none is given, and reports whether T has changed.
func (x *window) updateBaseRTT(a *cc.Ack) bool {
	x.una = a.Una
	if x.given || a.RTT.Min <= 0 || a.RTT.Min == x.t {
		return false
	}
	x.setBaseRTT(a.RTT.Min)
	return true
}

// clamp maps infinity and NaN to the upper bound.
func (x *window) clamp(w float64) float64 {
	if !(w < x.most) {
		return x.most
	}
	return max(w, x.least)
}

// withTelemetry: records say how much may be in flight.
func (x *window) withTelemetry() { x.timedOut = false }

// withoutTelemetry: an ACK without records. After a timeout the window grows from one packet by the bytes
// acknowledged, as in slow start (RFC 5681 §3.1), up to W; otherwise W stays.
func (x *window) withoutTelemetry(a *cc.Ack) {
	if x.timedOut {
		if x.restart += float64(a.Bytes); x.restart >= x.w {
			x.timedOut = false
		}
	}
}

// onLoss: after a timeout nothing is known about the path. The drafts do not say what to do; we send one
// packet as a probe. Other losses do not change the window: telemetry does.
func (x *window) onLoss(l cc.Loss) {
	switch l.Kind {
	case cc.RetransmissionTimeout:
		x.timedOut, x.restart = true, float64(x.flow.MSS)
	case cc.Spurious:
		x.timedOut = false
	}
}

// Decision is the window, at least a packet, and the pacing rate R = W/T (line 27) of the unrounded W:
// with a W below a packet, one packet is in flight, paced.
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
	if x.apart {
		d.Window = x.bound(d.Window)
	}
	return d
}

// bound is what bounds what is in flight if it is not W; after a timeout it is.
func (x *window) bound(w unit.Bytes) unit.Bytes {
	switch {
	case x.timedOut:
		return w
	case x.loose:
		return x.flow.FreeWindow()
	}
	return max(unit.Bytes(x.most), unit.Bytes(x.flow.MSS))
}

// OnSend does nothing.
func (x *window) OnSend(unit.Time, cc.Sent) {}

// OnNotice does nothing.
func (x *window) OnNotice(unit.Time, cc.Notice) {}

// OnTimer is never called.
func (x *window) OnTimer(unit.Time) {}
