package tcp

import "weir/core/unit"

// rttEstimator is tcp_rtt_estimator: RFC 6298 with the deviation's largest value of a
// round trip, so that the variance falls slowly.
type rttEstimator struct {
	srtt, mdev, mdevMax, rttvar unit.Time // srtt is 8 times the average, mdev and the others 4 times the deviation
	rttSeq                      int64     // end of the round
	rto                         unit.Time
	minRTT                      windowedMin
}

// sample takes an RTT in and sets the RTO: srtt + max(200 ms, 4·deviation) (Linux'
// reading of RFC 6298 §2).
func (r *rttEstimator) sample(rtt unit.Time, una, next int64, least unit.Time) {
	m := max(rtt, 1)
	if r.srtt == 0 {
		r.srtt = 8 * m
		r.mdev = 2 * m
		r.rttvar = max(r.mdev, least)
		r.mdevMax, r.rttSeq = r.rttvar, next
	} else {
		m -= r.srtt / 8
		r.srtt += m
		if m < 0 { // a lower RTT moves the deviation less
			m = -m - r.mdev/4
			if m > 0 {
				m /= 8
			}
		} else {
			m -= r.mdev / 4
		}
		r.mdev += m
		if r.mdev > r.mdevMax {
			r.mdevMax = r.mdev
			r.rttvar = max(r.rttvar, r.mdevMax)
		}
		if una > r.rttSeq {
			if r.mdevMax < r.rttvar {
				r.rttvar -= (r.rttvar - r.mdevMax) / 4
			}
			r.rttSeq, r.mdevMax = next, least
		}
		r.srtt = max(r.srtt, 1)
	}
	r.rto = min(r.srtt/8+r.rttvar, largestRTO)
}

// delivery is the state of tcp_rate.c, draft-cheng-iccrg-delivery-rate-estimation.
type delivery struct {
	delivered   int64 // packets; the SYN counts
	deliveredCE int64
	deliveredAt unit.Time
	firstSent   unit.Time // when the first packet of the sample's flight was sent
	appLimited  int64     // until so many are delivered; 0: not
	lostTotal   int64
	timeouts    int64
}

// sampling collects the sample of one ACK (struct rate_sample).
type sampling struct {
	has            bool
	priorDelivered int64
	priorAt        unit.Time
	sendInterval   unit.Time
	lastSent       unit.Time
	lastEnd        int64
	appLimited     bool
	resent         bool
}

// take is tcp_rate_skb_delivered: the packet sent last gives the sample.
func (r *sampling) take(d *delivery, g *segment) {
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
