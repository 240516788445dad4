package transport

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestDeliveries_Sample follows draft-cheng-iccrg-delivery-rate-estimation by hand. Ten packets are sent 1 us apart
// from 0 on and acknowledged 2 us apart from 10 us on. The sample of packet k is all data delivered since its
// departure, over the longer of the send and acknowledgement intervals.
func TestDeliveries_Sample(t *testing.T) {
	const us = unit.Microsecond
	var d Deliveries
	var left [20]Departure
	d.BeginFlight(0)
	for k := range 10 {
		left[k] = d.NewDeparture()
	}
	for k := range 10 {
		sent, now := unit.Time(k)*us, unit.Time(10+2*k)*us
		d.Delivered++
		got, ok := d.SampleRate(now, sent, &left[k], 10*us)
		d.FirstSent, d.DeliveredAt = sent, now
		want := cc.Delivery{Packets: k + 1, Interval: now}
		if got != want || !ok {
			t.Errorf("packet %d: %+v, %v; want %+v", k, got, ok, want)
		}
	}
	left[10] = d.NewDeparture() // at 30 us, after packet 9 was delivered at 28 us
	d.Delivered++
	got, ok := d.SampleRate(40*us, 30*us, &left[10], 10*us)
	if want := (cc.Delivery{Packets: 1, Interval: 21 * us, PriorDelivered: 10}); got != want || !ok {
		t.Errorf("a packet after a pause: %+v, %v; want %+v", got, ok, want)
	}
	// acknowledged sooner than a round trip after it left: it was sent again unnecessarily
	if _, ok := d.SampleRate(31*us, 30*us, &Departure{FirstSent: 30 * us, DeliveredAt: 28 * us}, 10*us); ok {
		t.Error("a sample over less than a round trip")
	}
	if _, ok := d.SampleRate(0, 0, &Departure{}, 0); ok {
		t.Error("a sample over no time")
	}
}

// TestDeliveries_ApplicationLimit checks that the limit of the application lasts until all that was in flight is
// delivered.
func TestDeliveries_ApplicationLimit(t *testing.T) {
	d := Deliveries{Delivered: 5}
	d.LimitByApplication(3)
	for d.Delivered = 6; d.Delivered <= 9; d.Delivered++ {
		if d.EndLimit(); (d.AppLimited > 0) != (d.Delivered <= 8) {
			t.Errorf("%d of 8 delivered: limited until %d", d.Delivered, d.AppLimited)
		}
	}
	d = Deliveries{}
	if d.LimitByApplication(0); d.AppLimited != 1 {
		t.Errorf("before the first packet: limited until %d", d.AppLimited)
	}
}
