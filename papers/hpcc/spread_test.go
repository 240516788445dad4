package hpcc

import (
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// arrival is the acknowledgement of one packet: the n-th, with all below una.
func arrival(n, una, next int64, load float64) *cc.Ack {
	return &cc.Ack{Packets: 1, Seq: (n + 1) * 1000, FirstUnacked: una * 1000, Next: next * 1000,
		Flight:    cc.Flight{Before: 10},
		Telemetry: cc.Telemetry{Load: load}}
}

// TestSpreadLoads checks that while packets arrive out of order, U is the largest load of the last 2/3 of T, 6.7 us,
// with format: relative and PINT. In order, each load is U.
func TestSpreadLoads(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	p, err := NewPINT(newFlow(), PINTConfig{Defaults(), 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		at   unit.Time
		n    int64
		load float64
		want float64
	}{
		{0, 0, 0.9, 0.9}, {us, 1, 0.5, 0.5}, // in order
		{2 * us, 5, 0.4, 0.4}, {3 * us, 3, 1.7, 1.7}, // 3 was overtaken
		{4 * us, 6, 0.3, 1.7}, {9 * us, 4, 0.6, 1.7}, {11 * us, 7, 0.5, 0.6}, {40 * us, 8, 0.2, 0.2},
	} {
		for name, c := range map[string]cc.Controller{"relative": s, "PINT": p} {
			c.OnAck(x.at, arrival(x.n, 0, 100, x.load))
			u := s.ref.u
			if name == "PINT" {
				u = p.ref.u
			}
			if u != x.want {
				t.Errorf("%s: packet %d at %v: U is %v, want %v", name, x.n, x.at, u, x.want)
			}
		}
	}
	for n := range int64(orderlyPackets) {
		s.OnAck(50*us, arrival(10+n, 10+n, 2000, 0.8))
	}
	if s.OnAck(51*us, arrival(3000, 3000, 4000, 0.1)); s.ref.u != 0.1 {
		t.Errorf("U is %v after %d packets in order", s.ref.u, orderlyPackets)
	}
}

// TestSpreadProof checks that resent packets, and acknowledgements without new data, prove no second path.
func TestSpreadProof(t *testing.T) {
	for _, change := range []func(a *cc.Ack){
		func(a *cc.Ack) { a.Delivery.Retransmitted = true }, func(a *cc.Ack) { a.Packets = 0 },
		func(a *cc.Ack) { a.Seq = 0 },
	} {
		s := newSender(t, newFlow(), nil)
		s.OnAck(us, arrival(5, 0, 100, 0.9))
		a := arrival(3, 0, 100, 0.5)
		change(a)
		if s.OnAck(2*us, a); s.order.isMany() || s.ref.u != 0.5 {
			t.Errorf("several paths: %v; U %v", s.order.isMany(), s.ref.u)
		}
	}
}

// TestSpreadRoundTrip checks that on several paths a window is committed when all that was sent before the last commit
// is acknowledged: a packet of a fast path ends no round trip of the slow one.
func TestSpreadRoundTrip(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	s.OnAck(us, arrival(1, 0, 10, 0.9)) // commits; the next is due behind packet 9
	s.OnAck(2*us, arrival(0, 2, 12, 0.9))
	wc := s.ref.wc
	if s.OnAck(3*us, arrival(11, 2, 20, 1.9)); s.ref.wc != wc {
		t.Errorf("Wc is %v, was %v", s.ref.wc, wc)
	}
	if s.OnAck(4*us, arrival(12, 10, 20, 1.9)); s.ref.wc >= wc || s.lastUpdateSeq != 20_000 {
		t.Errorf("Wc is %v, was %v; the next commit is due at %d", s.ref.wc, wc, s.lastUpdateSeq)
	}
}

// TestSpreadUncongested checks telemetry upon congestion: records of a congested path hold while others are
// uncongested.
func TestSpreadUncongested(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	bytes := uint64(0)
	send := func(n int64, load float64) {
		now := unit.Time(n) * 2 * us
		a := arrival(n^1, 0, 1000, 0.8) // every second packet was overtaken
		if load > 0 {
			bytes += uint64(load * 50_000) // of 4 us
			a.Telemetry = cc.Telemetry{Hops: []telemetry.Hop{hop(10, now, bytes, 0)}}
		}
		s.OnAck(now, a)
	}
	for n := range int64(40) {
		send(n, []float64{1.6, 0}[n%2])
	}
	if s.ref.u < 1.4 {
		t.Errorf("U is %v, with a path of 1.6", s.ref.u)
	}
}

// TestSpreadReceiver checks that a receiver is notified of the order. Between commits it waits for the queue that U, 1
// and the queue over B·T indicate.
func TestSpreadReceiver(t *testing.T) {
	f := newFlow()
	f.Loads = true
	r, err := NewReceiver(f, Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	adopted := uint8(0)
	data := func(at unit.Time, overtaken bool, load float64) bool {
		f, told := r.OnData(at, &cc.Data{Telemetry: cc.Telemetry{Load: load}, Adopted: adopted, Overtaken: overtaken})
		adopted = f.Number
		return told
	}
	data(us, true, 1.5)
	if u := r.ref.u; u != 1.5 {
		t.Fatalf("U is %v", u)
	}
	data(2*us, false, 0.3)
	for _, from := range []unit.Time{us, 17 * us} { // when the first data under the window came; a queue of half a T
		data(from, false, 1.5)
		if due := from + 15*us; data(due, false, 1.5) || !data(due+1, false, 1.5) {
			t.Errorf("the commit after %v is not due after 1.5 T; queueing %v", from, r.queueing)
		}
	}
}
