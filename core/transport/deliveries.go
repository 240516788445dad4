package transport

import (
	"weir/core/cc"
	"weir/core/unit"
)

// Deliveries counts the packets of a flow that are delivered, and measures their rate
// (draft-cheng-iccrg-delivery-rate-estimation).
type Deliveries struct {
	Delivered   int64     // packets
	DeliveredCE int64     // the delivered packets with an echo of a congestion mark
	FirstSent   unit.Time // when the first packet of the sample's flight was sent
	DeliveredAt unit.Time // when the latest packet was delivered
	AppLimited  int64     // the application limits samples until Delivered exceeds it; 0: no limit
}

// Departure is the state of Deliveries that a sender stores with a packet (§3.2).
type Departure struct {
	FirstSent   unit.Time
	DeliveredAt unit.Time
	Delivered   int64
}

// BeginFlight starts a flight: a packet is sent while no other is in flight (§3.2).
func (d *Deliveries) BeginFlight(now unit.Time) { d.FirstSent, d.DeliveredAt = now, now }

// NewDeparture returns the state to store with a packet that is sent now.
func (d *Deliveries) NewDeparture() Departure {
	return Departure{d.FirstSent, d.DeliveredAt, d.Delivered}
}

// LimitByApplication records that the application has no more data, or that a controller holds the flow back, while
// inFlight packets are in flight.
func (d *Deliveries) LimitByApplication(inFlight int64) { d.AppLimited = max(d.Delivered+inFlight, 1) }

// EndLimit ends the application's limit when all packets that were in flight at its start are delivered.
func (d *Deliveries) EndLimit() {
	if d.Delivered > d.AppLimited {
		d.AppLimited = 0
	}
}

// SampleRate returns the delivery rate at the packet that was sent last of those newly delivered. The packet was sent
// at the time sent, and departure was stored with it. ok is false if the interval is 0 or shorter than minRTT: the
// packet was resent unnecessarily. It changes no state.
func (d *Deliveries) SampleRate(now, sent unit.Time, departure *Departure, minRTT unit.Time) (s cc.Delivery, ok bool) {
	s = cc.Delivery{Packets: int(d.Delivered - departure.Delivered),
		Interval:       max(sent-departure.FirstSent, now-departure.DeliveredAt),
		PriorDelivered: departure.Delivered}
	return s, s.Interval >= minRTT && s.Interval > 0
}
