package transport

import (
	"weir/core/cc"
	"weir/core/unit"
)

// Deliveries counts the packets of a flow that are delivered, and measures their rate
// (draft-cheng-iccrg-delivery-rate-estimation).
type Deliveries struct {
	Delivered   int64     // packets
	DeliveredCE int64     // of them, packets with an echo of a congestion mark
	FirstSent   unit.Time // when the first packet of the sample's flight was sent
	DeliveredAt unit.Time // when the latest one was
	AppLimited  int64     // samples are limited by the application until so many are delivered; 0: they are not
}

// Departure is what is known of deliveries when a packet is sent (§3.2).
type Departure struct {
	FirstSent   unit.Time
	DeliveredAt unit.Time
	Delivered   int64
}

// Begin notes a packet that is sent while none is in flight: a flight begins (§3.2).
func (d *Deliveries) Begin(now unit.Time) { d.FirstSent, d.DeliveredAt = now, now }

// Departure returns what to store of a packet that is sent now.
func (d *Deliveries) Departure() Departure { return Departure{d.FirstSent, d.DeliveredAt, d.Delivered} }

// LimitByApplication notes that the application has no more to send, or that a controller holds the flow back, while
// packets are in flight.
func (d *Deliveries) LimitByApplication(inFlight int64) { d.AppLimited = max(d.Delivered+inFlight, 1) }

// EndLimit ends the application's limit once all that was in flight then is delivered.
func (d *Deliveries) EndLimit() {
	if d.Delivered > d.AppLimited {
		d.AppLimited = 0
	}
}

// Sample returns the delivery rate at the packet that was sent last of those newly delivered, at a time. False: its
// interval is shorter than the shortest round trip, since the packet was sent again unnecessarily.
func (d *Deliveries) Sample(now, sent unit.Time, from *Departure, minRTT unit.Time) (s cc.Delivery, ok bool) {
	s = cc.Delivery{Packets: int(d.Delivered - from.Delivered), Interval: max(sent-from.FirstSent, now-from.DeliveredAt),
		PriorDelivered: from.Delivered}
	return s, s.Interval >= minRTT && s.Interval > 0
}
