package tcp

import (
	"weir/core/transport"
	"weir/core/unit"
)

// rateSample collects the sample of one ACK (struct rate_sample) from the packet that was sent last.
type rateSample struct {
	transport.Departure
	has        bool
	sent       unit.Time
	end        int64
	appLimited bool
	resent     bool
}

// delivered makes segment g the sample if it was sent last of those delivered, and sets d.FirstSent
// (tcp_rate_skb_delivered). A transmission counts once: it clears the flag rated of g.
func (r *rateSample) delivered(d *transport.Deliveries, g *segment) {
	if g.flags&rated == 0 {
		return
	}
	if !r.has || g.sent > r.sent || g.sent == r.sent && g.end > r.end {
		*r = rateSample{Departure: g.Departure, has: true, sent: g.sent, end: g.end, appLimited: g.flags&limited != 0,
			resent: g.flags&everSent != 0}
		d.FirstSent = g.sent
	}
	g.flags &^= rated
}
