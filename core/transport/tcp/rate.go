package tcp

import (
	"weir/core/unit"
)

// delivery is the state of tcp_rate.c, draft-cheng-iccrg-delivery-rate-estimation.
type delivery struct {
	delivered   int64 // packets; the SYN counts
	deliveredCE int64
	deliveredAt unit.Time
	firstSent   unit.Time // when the first packet of the sample's flight was sent
	appLimited  int64     // until so many are delivered; 0: not
	timeouts    int64
}

// rateSample collects the sample of one ACK (struct rate_sample).
type rateSample struct {
	has            bool
	priorDelivered int64
	priorAt        unit.Time
	sendInterval   unit.Time
	lastSent       unit.Time
	lastEnd        int64
	appLimited     bool
	resent         bool
}

// delivered is tcp_rate_skb_delivered: the packet sent last gives the sample.
func (r *rateSample) delivered(d *delivery, g *segment) {
	if g.flags&rated == 0 {
		return
	}
	if !r.has || g.sent > r.lastSent || g.sent == r.lastSent && g.end > r.lastEnd {
		r.has = true
		r.priorDelivered, r.priorAt = g.delivered, g.deliveredAt
		r.appLimited, r.resent = g.flags&limited != 0, g.flags&everSent != 0
		r.lastSent, r.lastEnd = g.sent, g.end
		r.sendInterval = g.sent - g.first
		d.firstSent = g.sent
	}
	g.flags &^= rated
}
