package hpcc

import (
	"weir/core/cc"
	"weir/core/unit"
)

// window is what the senders here have in common: W, its bounds, and what happens
// without telemetry. Windows are in bytes, with fractions.
type window struct {
	flow    cc.Flow
	given   bool // T is, and is not measured
	t       unit.Time
	perTime float64 // 1/T, in 1/ps; 0: T is not known yet
	rate    unit.Rate
	minRate unit.Rate
	w       float64
	least   float64 // bounds of w
	most    float64

	timedOut bool    // by a timeout all that was in flight
	restart  float64 // window until there are records again, then w holds
	una      int64
}

// roundTrip is the round trip since the last update, of lines 22 to 24.
type roundTrip struct {
	lastUpdateSeq int64 // line 24
	delivered     int64 // Ack.Delivered then
}

// roundTripOver is line 22: a packet that was sent after the last update has been acknowledged. A
// sender that has gone back sends much of what is below lastUpdateSeq again: snd_nxt was
// not the first byte never sent. Of packets that were sent again what had been delivered by
// then tells.
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
	x := window{flow: f, given: t > 0, rate: f.NICRate, minRate: minRate,
		w: float64(max(f.InitialWindow, 1)) * float64(f.MSS)}
	x.setBaseRTT(t)
	if x.rate > 0 && t > 0 {
		x.w = x.most // flows start at line rate (draft-miao §5)
	}
	return x
}

// setBaseRTT sets the base round-trip time and with it the bounds of the window, which the
// draft leaves open: from MinRate·T, and at least a byte, up to W_init = B_NIC·T, the
// least rate of the path standing for a NIC's that is not known, and at least a packet.
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

// updateBaseRTT takes a measured T if none is given, and tells whether T has changed.
func (x *window) updateBaseRTT(a *cc.Ack) bool {
	x.una = a.Una
	if x.given || a.RTT.Min <= 0 || a.RTT.Min == x.t {
		return false
	}
	x.setBaseRTT(a.RTT.Min)
	return true
}

// clamp also takes the infinite and what is no number, as upper bound.
func (x *window) clamp(w float64) float64 {
	if !(w < x.most) {
		return x.most
	}
	return max(w, x.least)
}

// withTelemetry: there are records that tell how much may be in flight.
func (x *window) withTelemetry() { x.timedOut = false }

// withoutTelemetry: an ACK without records. After a timeout the window grows from one packet
// by what is acknowledged, as in slow start (RFC 5681 §3.1), up to W; otherwise W stays.
func (x *window) withoutTelemetry(a *cc.Ack) {
	if x.timedOut {
		if x.restart += float64(a.Bytes); x.restart >= x.w {
			x.timedOut = false
		}
	}
}

// onLoss: after a timeout nothing is known of the path. The drafts do not say what then;
// one packet is sent to find out. Other losses do not move the window: telemetry does.
func (x *window) onLoss(l cc.Loss) {
	switch l.Kind {
	case cc.RetransmissionTimeout:
		x.timedOut, x.restart = true, float64(x.flow.MSS)
	case cc.Spurious:
		x.timedOut = false
	}
}

// Decision is the window, at least a packet, and the pacing rate R = W/T (line 27), of a
// W that is not rounded: a W below a packet paces packets, one in flight.
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
	return d
}

// OnSend does nothing.
func (x *window) OnSend(unit.Time, cc.Sent) {}

// OnNotice does nothing.
func (x *window) OnNotice(unit.Time, cc.Notice) {}

// OnTimer is never called.
func (x *window) OnTimer(unit.Time) {}
